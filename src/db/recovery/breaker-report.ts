import {
  afterFailure,
  afterSuccess,
  type BreakerSettings,
  canOpen,
  opensBreaker,
  type Sample,
} from '../../core/breaker.js';
import type { ErrorClass } from '../../core/error-class.js';
import { findStage } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import { msOf } from '../../core/span.js';
import type { Sql } from '../../ports/sql.js';
import type { Claimed, Ending, Pass } from '../spine/attempt.js';
import { closeBreaker, countWaiting, findHolding, lockBreaker, openBreaker, writeBreaker } from './breaker.js';
import type { ItemError } from '../spine/transition.js';

/** Whether an ending has anything to say to a breaker. Most have not, and their commit stays one statement. */
export function concernsBreaker(pipeline: Pipeline, claimed: Claimed, ending: Ending): boolean {
  if (!pipeline.breaker || ending.is === 'released') return false;
  if (ending.is !== 'done' && isStormy(pipeline, claimed, ending.error)) return true;
  return passesOf(claimed).length > 0;
}

/** Tells the breakers, in the transaction that commits the ending, how an attempt went that they let through; and opens one
 *  where this failure is one too many. */
export async function tellBreakers(
  transaction: Sql,
  pipeline: Pipeline,
  claimed: Claimed,
  ending: Ending,
): Promise<void> {
  const { breaker: settings } = pipeline;
  if (!settings || ending.is === 'released') return;
  const error = ending.is === 'done' ? null : ending.error;
  const failed = error && isStormy(pipeline, claimed, error) ? { stage: claimed.stage, class: error.class } : null;
  // First, for it takes the wider lock.
  if (failed) await openInStorm(transaction, pipeline, settings, failed);
  for (const pass of passesOf(claimed)) await tellOne(transaction, pipeline, settings, { pass, error });
}

function isStormy(pipeline: Pipeline, { stage }: Claimed, error: ItemError): boolean {
  return canOpen(error.class, findStage(pipeline, stage)?.row.ownFaults);
}

function passesOf(claimed: Claimed): readonly Pass[] {
  return claimed.passes ?? [];
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

/** Failures that end together must see each other, so each waits for the failure before it. The wait is short, because no
 *  failure is counted any more once the breaker is open. */
async function openInStorm(
  transaction: Sql,
  pipeline: Pipeline,
  settings: BreakerSettings,
  failed: Failed,
): Promise<void> {
  if (await isHeld(transaction, pipeline, failed)) return;
  await transaction.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`breaker:${pipeline.name}`]);
  if (await isHeld(transaction, pipeline, failed)) return;
  // Most failures come alone. Only when there are enough of them are the successes counted too.
  if ((await countFailures(transaction, pipeline.name, settings, failed)) < settings.failures) return;
  const sample = await readSample(transaction, pipeline.name, settings, failed);
  if (!opensBreaker(settings, sample)) return;
  const { failures, attempts } = sample;
  const reason = `${failures} of the last ${attempts} attempts at ${failed.stage} failed with ${failed.class}`;
  await openBreaker(transaction, pipeline, settings, { ...failed, reason });
}

async function isHeld(transaction: Sql, { name }: Pipeline, failed: Failed): Promise<boolean> {
  const holding = await findHolding(transaction, name, failed.stage);
  return holding.some((each) => each.class === failed.class);
}

export const FAILURES = `
  SELECT 1 FROM attempts WHERE pipeline = $1 AND stage = $2 AND error_class = $3 AND result = 'error'
    AND ended_at > now() - $4::float8 * interval '1 millisecond' LIMIT $5`;

/** Of this class in the window, as far as it takes to open a breaker; an index of failures alone answers. */
async function countFailures(
  transaction: Sql,
  pipeline: string,
  { window, failures }: BreakerSettings,
  failed: Failed,
): Promise<number> {
  const values = [pipeline, failed.stage, failed.class, msOf(window), failures];
  const { rows } = await transaction.query(FAILURES, values);
  return rows.length;
}

/** The latest attempts at the stage. Failures before the breaker last closed do not count. The order is by time and not by
 *  id: by id, the last fifty attempts of a quiet pipeline would be searched among the attempts of all pipelines. */
async function readSample(
  transaction: Sql,
  pipeline: string,
  { window, sample }: BreakerSettings,
  failed: Failed,
): Promise<Sample> {
  const { rows } = await transaction.query<Sample>(
    `WITH latest AS (
       SELECT item_id, visit, unit, result = 'error' AND error_class = $3 AS failed FROM attempts
       WHERE pipeline = $1 AND stage = $2 AND result = ANY (ARRAY['done', 'error'])
         AND ended_at > now() - $4::float8 * interval '1 millisecond'
         AND ended_at > COALESCE((SELECT closed_at FROM breakers WHERE pipeline = $1 AND class = $3), '-infinity')
       ORDER BY ended_at DESC, id DESC LIMIT $5
     )
     SELECT count(*)::int AS attempts, (count(*) FILTER (WHERE failed))::int AS failures,
       (count(DISTINCT (item_id, visit, unit)) FILTER (WHERE failed))::int AS "failedTasks"
     FROM latest`,
    [pipeline, failed.stage, failed.class, msOf(window), sample],
  );
  return rows[0] ?? { attempts: 0, failures: 0, failedTasks: 0 };
}
