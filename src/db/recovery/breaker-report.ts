import {
  afterFailure,
  afterSuccess,
  type BreakerSettings,
  canOpen,
  opensBreaker,
  type Sample,
} from '../../core/breaker.js';
import type pg from 'pg';
import type { ErrorClass } from '../../core/error-class.js';
import { findStage } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import { msOf } from '../../core/span.js';
import type { Sql } from '../../ports/sql.js';
import { inTransaction } from '../postgres/client.js';
import type { Claimed, Ending, Pass } from '../spine/attempt.js';
import { closeBreaker, countWaiting, findHolding, lockBreaker, openBreaker, writeBreaker } from './breaker.js';
import type { ItemError } from '../spine/transition.js';

/** Whether a breaker let this attempt through and is waiting for its result. */
export function awaitsResult({ passes = [] }: Claimed, ending: Ending): boolean {
  return passes.length > 0 && hasRun(ending);
}

/** Whether the stage ran, so that the attempt says something about it. */
function hasRun(ending: Ending): ending is Exclude<Ending, { is: 'released' | 'unbegun' }> {
  return ending.is !== 'released' && ending.is !== 'unbegun';
}

/** Tells the breakers, in the transaction that commits the ending, how an attempt went that they let through. */
export async function tellBreakers(
  transaction: Sql,
  pipeline: Pipeline,
  { passes = [] }: Claimed,
  ending: Ending,
): Promise<void> {
  const { breaker: settings } = pipeline;
  if (!settings || !hasRun(ending)) return;
  const error = ending.is === 'done' ? null : ending.error;
  // In the order in which claims lock them, or a commit and a claim would wait for each other.
  const ordered = passes.toSorted((one, other) => (one.class < other.class ? -1 : 1));
  for (const pass of ordered) await tellOne(transaction, pipeline, settings, { pass, error });
}

/** Opens a breaker where the failure that was just committed is one too many. It looks after the commit, when no lock of the item is
 *  held: each of several failures that end together sees those that were committed before it, so the last one sees all. */
export async function lookForStorm(pool: pg.Pool, pipeline: Pipeline, claimed: Claimed, ending: Ending): Promise<void> {
  const { breaker: settings } = pipeline;
  if (!settings || !hasRun(ending) || ending.is === 'done') return;
  if (!isStormy(pipeline, claimed, ending.error)) return;
  const failed = { stage: claimed.stage, class: ending.error.class };
  if (!(await findStorm(pool, pipeline, settings, failed))) return;
  await inTransaction(pool, async (transaction) => {
    await transaction.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`breaker:${pipeline.name}`]);
    // Another process may have opened it while this one waited for the lock.
    const sample = await findStorm(transaction, pipeline, settings, failed);
    if (!sample) return;
    const { failures, attempts } = sample;
    const reason = `${failures} of the last ${attempts} attempts at ${failed.stage} failed with ${failed.class}`;
    await openBreaker(transaction, pipeline, settings, { ...failed, reason });
  });
}

function isStormy(pipeline: Pipeline, { stage }: Claimed, error: ItemError): boolean {
  return canOpen(error.class, findStage(pipeline, stage)?.row.ownFaults);
}

interface Report {
  pass: Pass;
  error: ItemError | null;
}

async function tellOne(
  transaction: Sql,
  pipeline: Pipeline,
  settings: BreakerSettings,
  { pass, error }: Report,
): Promise<void> {
  const breaker = await lockBreaker(transaction, pipeline.name, pass.class);
  if (breaker?.round !== pass.round) return;
  if (error) {
    const change = afterFailure(breaker, settings, error.class === pass.class);
    if (change) await writeBreaker(transaction, breaker, change);
    return;
  }
  const change = afterSuccess(breaker, settings);
  if (change === 'close') return closeBreaker(transaction, breaker, 'what was let through succeeded');
  const isNewPace = change.perSecond !== breaker.perSecond;
  const waiting = isNewPace ? await countWaiting(transaction, pipeline, breaker.stages) : null;
  await writeBreaker(transaction, breaker, change, waiting);
}

interface Failed {
  stage: string;
  class: ErrorClass;
}

/** The sample that opens a breaker; null: the latest attempts are well enough, or a breaker holds the stage already. */
async function findStorm(
  sql: Sql,
  pipeline: Pipeline,
  settings: BreakerSettings,
  failed: Failed,
): Promise<Sample | null> {
  if (await isHeld(sql, pipeline, failed)) return null;
  // Most failures are alone. Only if there are enough of them are they compared with the attempts that went well.
  if ((await countFailures(sql, pipeline.name, settings, failed)) < settings.failures) return null;
  const sample = await readSample(sql, pipeline.name, settings, failed);
  return opensBreaker(settings, sample) ? sample : null;
}

async function isHeld(sql: Sql, { name }: Pipeline, failed: Failed): Promise<boolean> {
  const holding = await findHolding(sql, name, failed.stage);
  return holding.some((each) => each.class === failed.class);
}

export const FAILURES = `
  SELECT 1 FROM attempts WHERE pipeline = $1 AND stage = $2 AND error_class = $3 AND result = 'error'
    AND ended_at > now() - $4::float8 * interval '1 millisecond' LIMIT $5`;

/** Of this class in the window, as far as it takes to open a breaker; an index of failures alone answers. */
async function countFailures(
  sql: Sql,
  pipeline: string,
  { window, failures }: BreakerSettings,
  failed: Failed,
): Promise<number> {
  const values = [pipeline, failed.stage, failed.class, msOf(window), failures];
  const { rows } = await sql.query(FAILURES, values);
  return rows.length;
}

/** Reads the latest attempts at a stage by an index of that order, so that the cost does not depend on how many attempts the window
 *  has. Failures before the breaker last closed do not count. */
export const SAMPLE = `
  WITH latest AS (
    SELECT item_id, visit, unit, result = 'error' AND error_class = $3 AS failed FROM attempts
    WHERE pipeline = $1 AND stage = $2 AND result = ANY (ARRAY['done', 'error'])
      AND ended_at > now() - $4::float8 * interval '1 millisecond'
      AND ended_at > COALESCE((SELECT closed_at FROM breakers WHERE pipeline = $1 AND class = $3), '-infinity')
    ORDER BY ended_at DESC LIMIT $5
  )
  SELECT count(*)::int AS attempts, (count(*) FILTER (WHERE failed))::int AS failures,
    (count(DISTINCT (item_id, visit, unit)) FILTER (WHERE failed))::int AS "failedTasks"
  FROM latest`;

async function readSample(
  sql: Sql,
  pipeline: string,
  { window, sample }: BreakerSettings,
  failed: Failed,
): Promise<Sample> {
  const { rows } = await sql.query<Sample>(SAMPLE, [pipeline, failed.stage, failed.class, msOf(window), sample]);
  return rows[0] ?? { attempts: 0, failures: 0, failedTasks: 0 };
}
