import type { Pipeline } from '../../../core/pipeline.js';
import { beatsMsOf, isAliveWithoutEngine, type LastSign } from '../../../core/attempt-life.js';
import type { Sql } from '../../../ports/sql.js';
import { deathTimeOf } from '../../recovery/gone-worker.js';
import { taskReceipt } from '../../recovery/receipts.js';
import { HELD_LOCKS } from '../../recovery/workers.js';
import { type Attempt, taskKey } from '../attempt.js';
import type { Found, TaskRow } from '../task-row.js';

/** Whether the attempt before lives, though Temporal has given its task to this attempt. */
export async function isHeldByLiving(
  transaction: Sql,
  pipeline: Pipeline,
  { attempt, before }: Found,
): Promise<boolean> {
  const { state, stage } = attempt;
  // A local activity beats no row, so nothing tells a frozen attempt from a living one.
  if (before.isLocal) return false;
  const sign = await lastSignOf(transaction, attempt);
  return sign !== undefined && isAliveWithoutEngine(sign, beatsMsOf(pipeline, state, stage));
}

/** When the attempt that holds the task last beat its row, and whether its process holds its lock. */
async function lastSignOf(transaction: Sql, attempt: Attempt): Promise<LastSign | undefined> {
  const { rows } = await transaction.query<LastSign>(
    `SELECT extract(epoch FROM now() - t.beat_at)::float8 * 1000 AS "silentMs",
       extract(epoch FROM now() - t.started_at)::float8 * 1000 AS "ranMs",
       ${deathTimeOf('w')} IS NULL AND w.lock_key IN (${HELD_LOCKS}) AS "isHeld"
     FROM tasks t JOIN workers w ON w.id = t.worker
     WHERE t.item_id = $1 AND t.visit = $2 AND t.stage = $3 AND t.unit = $4`,
    taskKey(attempt),
  );
  return rows[0];
}

const TAKEN = { pipeline: '$5', state: '$7', epoch: '$8' };

/** Takes the task from a worker that lives. The fence goes up, and the worker finds out at its next beat. */
export async function takeOver(
  transaction: Sql,
  pipeline: Pipeline,
  { item, attempt, before }: Found,
): Promise<TaskRow> {
  await transaction.query(
    `WITH task AS (
       UPDATE tasks SET status = 'waiting', fence = fence + 1, isolated = false, token = NULL, recovering = true
       WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4 RETURNING *
     ), receipt AS (${before.isolated ? silentParentReceipt(TAKEN) : givenBackReceipt('now()', TAKEN)})
     INSERT INTO attempts (item_id, pipeline, visit, stage, unit, attempt, fence, worker, started_at, result, isolated)
     SELECT item_id, $5, visit, stage, unit, attempt, $6::int, worker, started_at, 'given_back', $9 FROM task`,
    [...taskKey(attempt), pipeline.name, before.fence, item.state, item.epoch, before.isolated],
  );
  return { ...before, status: 'waiting', isolated: false, recovering: true };
}

/** Records that a worker gave the task back while it lived, because Temporal no longer knew its attempt. Either the run was closed,
 *  and then the rescue's receipt says so; or the run is there and asks again, and then Temporal had been away. */
export async function recordGivenBack(
  transaction: Sql,
  pipeline: Pipeline,
  { item, attempt, before }: Found,
): Promise<void> {
  if (before.status !== 'waiting' || !before.recovering) return;
  await transaction.query(
    `WITH attempt AS (
       UPDATE attempts SET result = 'given_back' WHERE item_id = $1 AND result = 'superseded' AND fence = $8 AND id = (
         SELECT max(id) FROM attempts WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4)
       RETURNING ended_at
     ), task AS (
       SELECT t.*, attempt.ended_at AS given_back_at FROM tasks t, attempt
       WHERE t.item_id = $1 AND t.visit = $2 AND t.stage = $3 AND t.unit = $4
     )
     ${givenBackReceipt('t.given_back_at', { pipeline: '$5', state: '$6', epoch: '$7' })}`,
    [...taskKey(attempt), pipeline.name, item.state, item.epoch, before.fence],
  );
}

/** The receipt of a `task` whose own process beat its row while its worker said nothing to Temporal. */
function silentParentReceipt(of: { pipeline: string; state: string; epoch: string }): string {
  return taskReceipt('task t', {
    ...of,
    reason: `'silent_worker'`,
    sentence: `format('Worker %s fell silent while a process of its own ran %s; another worker has the stage now, at no cost: no error, no crash and no rescue is counted.', COALESCE(t.worker, 'unknown'), t.stage)`,
    seenAt: 'now()',
    result: `'waiting'`,
  });
}

/** The receipt of a `task` that went from one living worker to another. The granted claim completes the receipt. */
function givenBackReceipt(seenAt: string, of: { pipeline: string; state: string; epoch: string }): string {
  return taskReceipt('task t', {
    ...of,
    reason: `'engine_unreachable'`,
    sentence: `format('Temporal lost sight of worker %s, which was alive and at work on %s; the stage was given back at no cost: no error, no crash and no rescue is counted.', COALESCE(t.worker, 'unknown'), t.stage)`,
    seenAt,
    result: `'waiting'`,
  });
}
