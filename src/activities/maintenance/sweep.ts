import type pg from 'pg';
import type { Logger } from 'pino';
import type { Facts } from '../../core/diagnosis.js';
import { isAppError } from '../../core/errors.js';
import type { Pipeline } from '../../core/pipeline.js';
import { emptyPage, type SweepActivities, type SweepPage, type SweepPageInput } from '../../core/sweep-page.js';
import { type StuckRow, takeStuck } from '../../db/recovery/stuck.js';
import { raiseEvent } from '../../db/recovery/outbox.js';
import { queueFactsOf } from '../../db/recovery/queue-facts.js';
import { type FoundReason, storeReasons } from '../../db/recovery/swept-reason.js';
import type { Engine } from '../../ports/engine.js';
import { tidyOpenRuns } from './open-runs.js';
import { createPace } from './pace.js';
import { type SweepContext, sweepItem, type Swept } from './sweep-item.js';

export interface SweepDeps {
  pool: pg.Pool;
  engine: Engine;
  pipelines: Readonly<Record<string, Pipeline>>;
  logger: Logger;
  /** Items of a pipeline that are rescued in a second. Items whose runs Temporal has lost are not counted. */
  rescuesPerSecond: number;
}

/** Items of one page. Each costs a question to Temporal and at most one short transaction. So a page takes seconds even
 *  when Temporal is slow, and a worker that dies during a page leaves little undone. */
const PAGE_ITEMS = 100;

/** A page waits for its rescues this long at most, because the shortest sweep takes only a few seconds. */
const PAGE_SECONDS = 2;

/** Items looked at together: enough to hide the way to Temporal, and half of a process's connections at most. */
const AT_ONCE = 5;

/** Errors that a page reports in full. A defect that hits every item would otherwise fill the history. */
const ERRORS_TOLD = 20;

const ENGINE_AWAY = 'Temporal does not answer: everything is left as it is';

export function createSweep(deps: SweepDeps): SweepActivities {
  return { sweepPage: (input) => sweepPage(deps, input) };
}

async function sweepPage(deps: SweepDeps, input: SweepPageInput): Promise<SweepPage> {
  const pipeline = deps.pipelines[input.pipeline];
  if (!pipeline) throw new Error(`no pipeline '${input.pipeline}' in this version`);
  const limit = Math.min(PAGE_ITEMS, PAGE_SECONDS * deps.rescuesPerSecond);
  const rows = await takeStuck(deps.pool, pipeline, { startedAt: input.startedAt, limit });
  const page = { ...emptyPage(), examined: rows.length, isLast: rows.length < limit };
  try {
    if (rows.length > 0) await sweepRows({ ...deps, pipeline, page }, rows);
    if (page.isLast) await tidyOpenRuns(deps, pipeline, page);
  } catch (error) {
    if (!isEngineAway(error)) throw error;
    // Without the engine no more can be known about the items. The next sweep looks again.
    page.isLast = true;
    page.errors.push(ENGINE_AWAY);
  }
  const more = page.errors.splice(ERRORS_TOLD).length;
  if (more > 0) page.errors.push(`and ${String(more)} more`);
  logWhatWasDone(deps.logger, pipeline, page);
  return page;
}

/** One page's work and its counts. */
interface Turn extends SweepDeps {
  pipeline: Pipeline;
  page: SweepPage;
}

async function sweepRows(turn: Turn, rows: readonly StuckRow[]): Promise<void> {
  const queue = await queueFactsOf(turn.pool, await turn.engine.queue(turn.pipeline.name));
  if (queue.pollers === 0 && rows.some(needsWorker)) await raiseNoWorker(turn, rows);
  const awaitTurn = createPace(turn.rescuesPerSecond);
  const waiting = [...rows];
  const found: FoundReason[] = [];
  async function lane(): Promise<void> {
    for (let row = waiting.shift(); row; row = waiting.shift()) {
      const swept = await sweepOrNote(turn, row, { queue, awaitTurn });
      if (!swept) continue;
      count(turn.page, row, swept);
      // An item that the sweep acted on has another reason from then on.
      if (swept.did === 'left' || swept.did === 'reported') found.push(foundIn(row, swept));
    }
  }
  // Waits for every lane, because a count that is added after the page is answered would be lost.
  const lanes = await Promise.allSettled(Array.from({ length: AT_ONCE }, lane));
  await storeReasons(turn.pool, found);
  for (const each of lanes) if (each.status === 'rejected') throw each.reason;
  if ((turn.page.byReason?.['backlog'] ?? 0) > 0) await raiseBacklog(turn, rows, queue.backlog);
}

function foundIn({ id, epoch, version, facts }: StuckRow, { reason, wedgedBy }: Swept): FoundReason {
  return { id, epoch, version, reason, wedgedBy, at: facts.now };
}

/** An item of a paused pipeline would wait with a worker as well. */
function needsWorker({ facts }: StuckRow): boolean {
  return facts.hold?.kind !== 'pause';
}

/** The event is raised once an hour for each pipeline. It follows from the task queue and not from the reason of an item, because all
 *  items may be inside a stage when the last worker dies. */
async function raiseNoWorker({ pool, pipeline }: Turn, rows: readonly StuckRow[]): Promise<void> {
  await raiseEvent(pool, {
    id: `no_worker:${pipeline.name}:${hourOf(rows)}`,
    kind: 'no_worker',
    pipeline: pipeline.name,
    sentence: `No worker of ${pipeline.name} asks for work, and ${rows.filter(needsWorker).length} or more of its items wait for one.`,
  });
}

/** The event is raised once an hour for each pipeline, as long as items wait for a free worker for longer than the table allows. */
async function raiseBacklog(
  { pool, pipeline, page }: Turn,
  rows: readonly StuckRow[],
  tasks: Facts['backlog'],
): Promise<void> {
  const waiting = page.byReason?.['backlog'] ?? 0;
  const queued = typeof tasks === 'number' ? ` Its task queue holds ${tasks}.` : '';
  await raiseEvent(pool, {
    id: `backlog:${pipeline.name}:${hourOf(rows)}`,
    kind: 'backlog',
    pipeline: pipeline.name,
    sentence: `${waiting} or more items of ${pipeline.name} have waited for a free worker for over ${pipeline.sweep.stuckAfter}.${queued} More workers, or a higher WORKER_MAX_ACTIVITIES, make the queue shorter.`,
    payload: { waiting, tasks: tasks ?? null },
  });
}

/** The hour by the database's clock, as ids of hourly events name it. */
function hourOf(rows: readonly StuckRow[]): string {
  return rows[0]?.facts.now.toISOString().slice(0, 'YYYY-MM-DDTHH'.length) ?? '';
}

/** An item that can't be swept is noted in the page's errors and never stops the sweep. Only an engine that is away
 *  does. */
async function sweepOrNote(turn: Turn, row: StuckRow, context: SweepContext): Promise<Swept | null> {
  const { pipeline, page, logger } = turn;
  try {
    return await sweepItem(turn, pipeline, row, context);
  } catch (error) {
    if (isEngineAway(error) && !(await doesAnswer(turn.engine))) throw error;
    page.errors.push(`${row.id}: ${error instanceof Error ? error.message : String(error)}`);
    logger.error({ err: error, item: row.id, pipeline: pipeline.name }, 'item could not be swept');
    return null;
  }
}

/** Whether the engine answers at all, or only one call to it failed. */
async function doesAnswer(engine: Engine): Promise<boolean> {
  return engine.ping().then(
    () => true,
    () => false,
  );
}

function count(page: SweepPage, { facts }: StuckRow, swept: Swept): void {
  if (swept.did === 'rescued') page.reEnqueued += 1;
  if (swept.did === 'started') page.started = (page.started ?? 0) + 1;
  if (swept.did === 'failed') page.permanentlyFailed += 1;
  if (swept.did === 'parked') page.parked += 1;
  if (swept.did === 'reported') page.reported += 1;
  if (!swept.isStuck) return;
  page.totalStuck += 1;
  page.stuckMsTotal += swept.silentMs;
  page.byStatus[facts.item.state] = (page.byStatus[facts.item.state] ?? 0) + 1;
  page.byReason = { ...page.byReason, [swept.reason]: (page.byReason?.[swept.reason] ?? 0) + 1 };
}

function logWhatWasDone(logger: Logger, { name }: Pipeline, page: SweepPage): void {
  const { reEnqueued, started = 0, permanentlyFailed, parked, endedRuns, reported, errors } = page;
  if (reEnqueued + started + permanentlyFailed + parked + endedRuns + reported + errors.length === 0) return;
  const counts = { reEnqueued, started, permanentlyFailed, parked, endedRuns, reported, errors };
  logger.warn({ pipeline: name, ...counts }, 'stuck items swept');
}

function isEngineAway(error: unknown): boolean {
  return isAppError(error) && error.code === 'engine_unavailable';
}
