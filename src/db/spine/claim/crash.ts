import type { Pipeline } from '../../../core/pipeline.js';
import type { Sql } from '../../../ports/sql.js';
import { deathTimeOf } from '../../recovery/gone-worker.js';
import { taskReceipt } from '../../recovery/receipts.js';
import { taskKey } from '../attempt.js';
import type { Found, TaskRow } from '../task-row.js';
import { isHeldByLiving, takeOver } from './take-over.js';

/** Ends the attempt before, which never ended by itself. It counts as a crash unless its worker lives. */
export async function endUnended(transaction: Sql, pipeline: Pipeline, found: Found): Promise<TaskRow> {
  return (await isHeldByLiving(transaction, pipeline, found))
    ? takeOver(transaction, pipeline, found)
    : countWorkerDeath(transaction, pipeline, found);
}

/** The worker of the attempt before died, froze or was cut off. That makes a suspect of the task and no more: a worker may die of
 *  anything, even while it ran the task in a process of its own. */
async function countWorkerDeath(transaction: Sql, pipeline: Pipeline, found: Found): Promise<TaskRow> {
  const { attempt, before } = found;
  const message = `worker ${before.worker ?? 'unknown'} died or fell silent while it ran ${attempt.stage}`;
  await countCrash(transaction, pipeline, found, {
    message,
    isOwn: false,
    reason: `CASE WHEN ${deathTimeOf('w')} IS NULL THEN 'silent_worker' ELSE 'worker_died' END`,
    result: 'waiting',
  });
  return { ...before, status: 'waiting', crashes: before.crashes + 1, isolated: false, recovering: true };
}

export interface Crash {
  message: string;
  /** The process that ran the task alone died, and its worker lived. */
  isOwn: boolean;
  /** Of the receipt, as SQL. */
  reason: string;
  result: 'waiting' | 'poison';
}

/** Frees the task of a crashed attempt, which has one crash more. A death of the task's own process is shown as its last error, and
 *  spends no try. The fence goes up here already: if the task has to wait now, the
 *  attempt before must not find its own fence on a task that no longer runs. */
export async function countCrash(
  transaction: Sql,
  pipeline: Pipeline,
  { item, attempt, before }: Found,
  { message, isOwn, reason, result }: Crash,
): Promise<void> {
  await transaction.query(
    `WITH task AS (
       UPDATE tasks SET status = 'waiting', fence = fence + 1, crashes = crashes + 1, isolated = false, token = NULL,
         recovering = true, own_deaths = own_deaths + $12::boolean::int, retry_at = CASE WHEN $12 THEN now() ELSE retry_at END,
         error_class = CASE WHEN $12 THEN 'WORKER_CRASH' ELSE error_class END,
         error_message = CASE WHEN $12 THEN $5 ELSE error_message END
       WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4 RETURNING *
     ), receipt AS (${receiptOf(reason)})
     INSERT INTO attempts
       (item_id, pipeline, visit, stage, unit, attempt, fence, worker, started_at, result, error_class, error_message, isolated,
        own_death)
     SELECT item_id, $7, visit, stage, unit, attempt, $6::int, worker, started_at, 'crash', 'WORKER_CRASH', $5, $11, $12 FROM task`,
    [
      ...taskKey(attempt),
      ...[message, before.fence, pipeline.name, item.state, item.epoch],
      ...[result, before.isolated, isOwn],
    ],
  );
}

/** A death was seen when the watcher saw it; this claim is the first to notice a worker that only fell silent. The watcher may have
 *  seen the death while this transaction waited for a lock: then the transaction's own time, which is when it began, is the earlier
 *  of the two. The task may have to wait still, for a place or for a breaker: the claim that is granted completes the receipt. */
function receiptOf(reason: string): string {
  return taskReceipt('task t LEFT JOIN workers w ON w.id = t.worker', {
    pipeline: '$7',
    state: '$8',
    epoch: '$9',
    sentence: '$5',
    result: '$10',
    reason,
    seenAt: `least(${deathTimeOf('w')}, now())`,
  });
}
