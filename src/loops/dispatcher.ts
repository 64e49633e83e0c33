import type pg from 'pg';
import type { Logger } from 'pino';
import type { Pipeline } from '../core/pipeline.js';
import { clearWake, type DueItem, noteAccepted, takeDueStarts, takeDueWakes } from '../db/spine/due.js';
import { firstStepOf } from '../db/spine/items.js';
import { wakeReleased } from '../db/spine/pipeline-pause.js';
import type { Engine } from '../ports/engine.js';
import { type Loop, startLoop } from './loop.js';

export interface DispatcherDeps {
  pool: pg.Pool;
  engine: Engine;
  pipelines: Readonly<Record<string, Pipeline>>;
  logger: Logger;
}

/** One page of work; what is left comes with the next turn at once. */
const PAGE = 50;

/** Items of a resumed pipeline that are marked to be woken in one turn: some turns' worth of wakes, so that a large pipeline
 *  comes back as fast as wakes are sent and no faster. */
const RELEASED_PAGE = 200;

/** Lost starts are seen within this; one cheap index look-up a turn. */
const EVERY_MS = 500;

export interface Counts {
  started: number;
  woken: number;
  failed: number;
}

/** Wake it when something was just inserted. */
export type Dispatcher = Loop;

/** Starts what is not started and tells runs what they have not seen. Any number of copies may run. */
export function startDispatcher(deps: DispatcherDeps): Dispatcher {
  async function turn(): Promise<boolean> {
    const counts = await dispatchDue(deps);
    return counts.started + counts.woken >= PAGE;
  }
  return startLoop({ everyMs: EVERY_MS, name: 'dispatcher', logger: deps.logger, turn });
}

/** One turn. The rows were pushed on when they were taken, so a failure here is simply tried again later. */
export async function dispatchDue(deps: DispatcherDeps): Promise<Counts> {
  await wakeReleased(deps.pool, RELEASED_PAGE);
  const starts = await takeDueStarts(deps.pool, PAGE);
  const wakes = await takeDueWakes(deps.pool, PAGE);
  const [started, woken] = await Promise.all([
    Promise.all(starts.map((item) => succeeds(deps, item, startRun))),
    Promise.all(wakes.map((item) => succeeds(deps, item, tellRun))),
  ]);
  const failed = [...started, ...woken].filter((ok) => !ok).length;
  return { started: started.filter(Boolean).length, woken: woken.filter(Boolean).length, failed };
}

async function startRun({ pool, pipelines, engine }: DispatcherDeps, item: DueItem): Promise<void> {
  const pipeline = pipelines[item.pipeline];
  if (!pipeline) throw new Error(`no pipeline '${item.pipeline}' in this version`);
  const step = firstStepOf(pipeline, item);
  await engine.start({ pipeline: item.pipeline, itemId: item.itemId, epoch: item.epoch, step });
  await noteAccepted(pool, item);
}

/** A live item's run is woken until it has seen the row; an ended one's is asked to end, once. */
async function tellRun({ pool, engine }: DispatcherDeps, item: DueItem): Promise<void> {
  if (!item.ended) {
    await engine.wake(item);
    return;
  }
  await engine.end(item);
  await clearWake(pool, item);
}

type Act = (deps: DispatcherDeps, item: DueItem) => Promise<void>;

async function succeeds(deps: DispatcherDeps, item: DueItem, act: Act): Promise<boolean> {
  try {
    await act(deps, item);
    return true;
  } catch (error) {
    deps.logger.warn({ err: error, item: item.itemId }, act === startRun ? 'start failed' : 'wake failed');
    return false;
  }
}
