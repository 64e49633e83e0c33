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

/** Items of one turn. After a full page the next turn begins at once. */
const PAGE = 50;

/** Items of a resumed pipeline that one turn marks to be woken. This is a few turns' worth of wakes, so that a large
 *  pipeline comes back as fast as wakes are sent and no faster. */
const RELEASED_PAGE = 200;

/** A lost start is seen within this time. A turn costs one cheap index look-up. */
const EVERY_MS = 500;

export interface Counts {
  started: number;
  woken: number;
  failed: number;
}

/** `wake` it after an insert, so that the item's run starts without waiting for the next turn. */
export type Dispatcher = Loop;

/** Starts the runs of items that have none, and wakes runs that have not seen their item's row. Any number of copies
 *  may run. */
export function startDispatcher(deps: DispatcherDeps): Dispatcher {
  async function turn(): Promise<number> {
    const { started, woken } = await dispatchDue(deps);
    return started + woken >= PAGE ? 0 : EVERY_MS;
  }
  return startLoop({ everyMs: EVERY_MS, name: 'dispatcher', logger: deps.logger, turn });
}

/** One turn. Taking a row also moves its due time on, so a start or wake that fails here is tried again later. */
export async function dispatchDue(deps: DispatcherDeps): Promise<Counts> {
  await wakeReleased(deps.pool, RELEASED_PAGE);
  const starts = await takeDueStarts(deps.pool, PAGE);
  const wakes = await takeDueWakes(deps.pool, PAGE);
  const [started, woken] = await Promise.all([
    Promise.all(starts.map((item) => tryFor(deps, item, startRun))),
    Promise.all(wakes.map((item) => tryFor(deps, item, tellRun))),
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

/** A live item's run is woken until it has seen the row. The run of an ended item is asked once to end. */
async function tellRun({ pool, engine }: DispatcherDeps, item: DueItem): Promise<void> {
  if (!item.ended) {
    await engine.wake(item);
    return;
  }
  await engine.end(item);
  await clearWake(pool, item);
}

type Act = (deps: DispatcherDeps, item: DueItem) => Promise<void>;

/** False: the act failed, and its log line is written. */
async function tryFor(deps: DispatcherDeps, item: DueItem, act: Act): Promise<boolean> {
  try {
    await act(deps, item);
    return true;
  } catch (error) {
    deps.logger.warn({ err: error, item: item.itemId }, act === startRun ? 'start failed' : 'wake failed');
    return false;
  }
}
