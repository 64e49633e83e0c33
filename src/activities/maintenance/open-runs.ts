import type pg from 'pg';
import type { Logger } from 'pino';
import { isAppError } from '../../core/errors.js';
import type { Pipeline } from '../../core/pipeline.js';
import { type RunRef, workflowIdOf } from '../../core/run.js';
import type { SweepPage } from '../../core/sweep-page.js';
import { recordLeftover } from '../../db/recovery/leftover.js';
import { raiseEvent } from '../../db/recovery/outbox.js';
import { findDeleted, findRunRows, type RunRow } from '../../db/recovery/stuck.js';
import type { Engine } from '../../ports/engine.js';

/** A run is told of its item's end at once, and needs a moment to close. A run that is open after a minute was not
 *  told. */
const TOUCHED_AFTER_MS = 60_000;

/** Runs compared with their rows in one look. */
const RUNS_AT_ONCE = 500;

/** Runs that one sweep ends. Each costs two calls to Temporal and a transaction, so that 500 take seconds, and a page has a minute. The
 *  next sweep ends more. A leftover run does no work meanwhile, because its claims are refused. */
const ENDED_AT_MOST = 500;

/** Runs named in the event; the rest is counted. */
const RUNS_NAMED = 5;

/** Goes through the open runs of a pipeline. A run whose item has ended, or was rescued since, is asked to end. A run
 *  without a row is asked to end too if the audit says that its item was deleted here. Otherwise (the database was restored) the run is
 *  only reported, because nobody knows which work it does. */
export async function tidyOpenRuns(
  deps: { pool: pg.Pool; engine: Engine; logger: Logger },
  pipeline: Pipeline,
  page: SweepPage,
): Promise<void> {
  const { pool, engine } = deps;
  const { name } = pipeline;
  const strays: RunRef[] = [];
  for await (const runs of batchesOf(engine.openRuns(name))) {
    const rows = await findRunRows(
      pool,
      runs.map((each) => each.itemId),
    );
    const rowless = runs.filter((run) => !rows.has(run.itemId));
    const deleted = await findDeleted(
      pool,
      rowless.map((each) => each.itemId),
    );
    strays.push(...rowless.filter((run) => !deleted.has(run.itemId)));
    await endRunsOfDeleted(
      deps,
      rowless.filter((run) => deleted.has(run.itemId)),
      page,
    );
    for (const run of runs) {
      const row = rows.get(run.itemId);
      if (!row) continue;
      if (page.endedRuns < ENDED_AT_MOST && isOutlived(run, row) && (await endLeftover(deps, pipeline, run))) {
        page.endedRuns += 1;
      }
    }
  }
  if (strays.length > 0) page.reported += await reportStrays(pool, name, strays);
}

/** The item's last audit entry tells of its deletion already, so the end of its run gets none. */
async function endRunsOfDeleted(
  { engine, logger }: { engine: Engine; logger: Logger },
  runs: readonly RunRef[],
  page: SweepPage,
): Promise<void> {
  for (const run of runs) {
    if (page.endedRuns >= ENDED_AT_MOST) return;
    if ((await engine.describe(run)).is === 'gone') continue;
    await engine.end(run);
    page.endedRuns += 1;
    logger.warn({ run: workflowIdOf(run) }, 'run of a deleted item ended');
  }
}

/** The audit entry is written first, so that no run is ended without an entry. False: the run has ended and the list of open runs does
 *  not show it yet, or another transaction is writing the item, and the next sweep ends the run. */
async function endLeftover(
  { pool, engine, logger }: { pool: pg.Pool; engine: Engine; logger: Logger },
  pipeline: Pipeline,
  run: RunRef,
): Promise<boolean> {
  if ((await engine.describe(run)).is === 'gone') return false;
  try {
    const isNew = await recordLeftover(pool, pipeline, run);
    await engine.end(run);
    if (isNew) logger.warn({ item: run.itemId, pipeline: pipeline.name, run: workflowIdOf(run) }, 'leftover run ended');
    return true;
  } catch (error) {
    if (isAppError(error) && error.code === 'still_alive') return false;
    throw error;
  }
}

function isOutlived(run: RunRef, row: RunRow): boolean {
  return run.epoch < row.epoch || (row.endedForMs !== null && row.endedForMs >= TOUCHED_AFTER_MS);
}

/** One event a day, however many runs there are and however often they are seen. */
async function reportStrays(pool: pg.Pool, pipeline: string, strays: readonly RunRef[]): Promise<number> {
  const { rows } = await pool.query<{ day: string }>(`SELECT to_char(now(), 'YYYY-MM-DD') AS day`);
  const named = strays.slice(0, RUNS_NAMED).map(workflowIdOf);
  const more = strays.length > named.length ? ', …' : '';
  await raiseEvent(pool, {
    id: `run_without_item:${pipeline}:${rows[0]?.day ?? ''}`,
    kind: 'run_without_item',
    pipeline,
    sentence: `Temporal runs ${String(strays.length)} of ${pipeline} that have no item: ${named.join(', ')}${more}.`,
    payload: { runs: named, count: strays.length },
  });
  return strays.length;
}

async function* batchesOf<T>(all: AsyncIterable<T>): AsyncIterable<T[]> {
  let batch: T[] = [];
  for await (const each of all) {
    batch.push(each);
    if (batch.length < RUNS_AT_ONCE) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
