import type pg from 'pg';
import type { Logger } from 'pino';
import type { Pipeline } from '../core/pipeline.js';
import { clearWake, countDueWakes, type DueItem, noteAccepted, takeDueStarts, takeDueWakes } from '../db/spine/due.js';
import { runStartOf } from '../db/spine/items.js';
import { releaseHeld } from '../db/spine/held.js';
import { walkReleased } from '../db/spine/pipeline-pause.js';
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

/** Items of a hold that is gone, which one turn marks to be woken. */
const RELEASED_PAGE = 200;

/** While so many wakes are due, no more items are released. A large pipeline comes back as fast as wakes are sent, and a wake of
 *  another pipeline stands behind these wakes and not behind all items that were held. */
const WAKES_AHEAD = 400;

/** A lost start is seen within this time. A turn costs one cheap index look-up. */
const EVERY_MS = 500;

/** `wake` it after an insert, so that the item's run starts without waiting for the next turn. `lastTurnAt` is that of the duty that
 *  is furthest behind. */
export interface Dispatcher extends Loop {
  /** The duty that is furthest behind, for the sentence of the health check. */
  slowestDuty(): string;
}

/** Starts the runs of items that have none, wakes runs that have not seen their item's row, and releases items whose hold is gone.
 *  Each duty is a loop of its own, so that a duty that fails or hangs does not stop the others. Any number of copies may run. */
export function startDispatcher(deps: DispatcherDeps): Dispatcher {
  const duties = [
    startDuty('starts', async () => (await startDue(deps)).taken),
    startDuty('wakes', async () => (await wakeDue(deps)).taken),
    startDuty('releases', async () => ((await releaseDue(deps)) > 0 ? PAGE : 0)),
  ];
  /** After a full page the next turn begins at once. */
  function startDuty(name: string, act: () => Promise<number>): { name: string; loop: Loop } {
    const turn = async (): Promise<number> => ((await act()) >= PAGE ? 0 : EVERY_MS);
    return { name, loop: startLoop({ everyMs: EVERY_MS, name: `dispatcher, ${name}`, logger: deps.logger, turn }) };
  }
  function slowest(): { name: string; at: Date | null } {
    const turns = duties.map(({ name, loop }) => ({ name, at: loop.lastTurnAt() }));
    return turns.reduce((first, each) => ((each.at?.getTime() ?? 0) < (first.at?.getTime() ?? 0) ? each : first));
  }
  return {
    wake: () => duties.forEach(({ loop }) => loop.wake()),
    lastTurnAt: () => slowest().at,
    slowestDuty: () => slowest().name,
    stop: async () => void (await Promise.all(duties.map(({ loop }) => loop.stop()))),
  };
}

export interface Counts {
  taken: number;
  failed: number;
}

/** Taking a row also moves its due time on, so a start or wake that fails here is tried again later. */
export async function startDue(deps: DispatcherDeps): Promise<Counts> {
  return tryForAll(deps, await takeDueStarts(deps.pool, Object.keys(deps.pipelines), PAGE), startRun);
}

async function wakeDue(deps: DispatcherDeps): Promise<Counts> {
  return tryForAll(deps, await takeDueWakes(deps.pool, PAGE), tellRun);
}

/** Returns how many items the pages had. */
export async function releaseDue({ pool }: Pick<DispatcherDeps, 'pool'>): Promise<number> {
  if ((await countDueWakes(pool, WAKES_AHEAD)) >= WAKES_AHEAD) return 0;
  return (await releaseHeld(pool, RELEASED_PAGE)) + (await walkReleased(pool, RELEASED_PAGE));
}

async function startRun({ pool, pipelines, engine }: DispatcherDeps, item: DueItem): Promise<void> {
  const pipeline = pipelines[item.pipeline];
  if (!pipeline) throw new Error(`no pipeline '${item.pipeline}' in this version`);
  await engine.start(runStartOf(pipeline, item));
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

async function tryForAll(deps: DispatcherDeps, items: readonly DueItem[], act: Act): Promise<Counts> {
  const done = await Promise.all(items.map((item) => tryFor(deps, item, act)));
  return { taken: done.length, failed: done.filter((ok) => !ok).length };
}

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
