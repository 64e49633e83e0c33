import { exhaustedState } from '../../../core/machine.js';
import type { Pipeline } from '../../../core/pipeline.js';
import type { Sql } from '../../../ports/sql.js';
import { deathTimeOf } from '../../recovery/gone-worker.js';
import { raiseExhausted } from '../../recovery/outbox.js';
import { taskReceipt } from '../../recovery/receipts.js';
import { taskKey } from '../attempt.js';
import type { Found, TaskRow } from '../task-row.js';
import { moveLocked, SYSTEM } from '../transition.js';
import { clearNeighbours } from './clear-neighbours.js';
import { isHeldByLiving, takeOver } from './take-over.js';

/** Three workers killed by one task as their only suspect leave no other explanation. */
const POISON_CRASHES = 3;

/** Ends the attempt before, which never ended by itself. It counts as a crash unless its worker lives. */
export async function endUnended(transaction: Sql, pipeline: Pipeline, found: Found): Promise<TaskRow | 'poison'> {
  return (await isHeldByLiving(transaction, pipeline, found.attempt))
    ? takeOver(transaction, pipeline, found)
    : countCrash(transaction, pipeline, found);
}

/** The worker of the attempt before died, froze or was cut off. The task is free again and has one crash more; a task that brought
 *  down its third worker as the only suspect ends the item instead. The fence goes up here already: if the task has to wait now, the
 *  attempt before must not find its own fence on a task that no longer runs. */
async function countCrash(
  transaction: Sql,
  pipeline: Pipeline,
  { item, attempt, before }: Found,
): Promise<TaskRow | 'poison'> {
  const soleCrashes = before.soleCrashes + (before.suspect ? 1 : 0);
  const crashes = before.crashes + 1;
  const message = `worker ${before.worker ?? 'unknown'} died or fell silent while it ran ${attempt.stage}`;
  await transaction.query(
    `WITH task AS (
       UPDATE tasks SET status = 'waiting', fence = fence + 1, crashes = $5, sole_crashes = $6, suspect = false, token = NULL,
         recovering = true
       WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4 RETURNING *
     ), receipt AS (${RECEIPT})
     INSERT INTO attempts (item_id, pipeline, visit, stage, unit, attempt, fence, worker, started_at, result, error_class, error_message)
     SELECT item_id, $9, visit, stage, unit, attempt, $8::int, worker, started_at, 'crash', 'WORKER_CRASH', $7 FROM task`,
    [
      ...taskKey(attempt),
      crashes,
      soleCrashes,
      message,
      before.fence,
      pipeline.name,
      item.state,
      item.epoch,
      soleCrashes < POISON_CRASHES ? 'waiting' : 'poison',
    ],
  );
  if (soleCrashes < POISON_CRASHES)
    return { ...before, status: 'waiting', crashes, soleCrashes, suspect: false, recovering: true };

  await endPoisoned(transaction, pipeline, { item, attempt, before }, crashes);
  return 'poison';
}

/** A death was seen when the watcher saw it; this claim is the first to notice a worker that only fell silent. The watcher may have
 *  seen the death while this transaction waited for a lock: then the transaction's own time, which is when it began, is the earlier
 *  of the two. The task may have to wait still, as a suspect or for a breaker: the claim that is granted completes the receipt. */
const RECEIPT = taskReceipt('task t LEFT JOIN workers w ON w.id = t.worker', {
  pipeline: '$9',
  state: '$10',
  epoch: '$11',
  sentence: '$7',
  result: '$12',
  reason: `CASE WHEN ${deathTimeOf('w')} IS NULL THEN 'silent_worker' ELSE 'worker_died' END`,
  seenAt: `least(${deathTimeOf('w')}, now())`,
});

async function endPoisoned(
  transaction: Sql,
  pipeline: Pipeline,
  { item, attempt }: Found,
  crashes: number,
): Promise<void> {
  const message = `${attempt.stage} brought down ${POISON_CRASHES} workers as their only suspect`;
  await moveLocked(transaction, pipeline, item, {
    from: item.state,
    to: exhaustedState(pipeline, item.state, null),
    via: 'exhaustion',
    trigger: 'poison',
    actor: SYSTEM,
    reason: 'POISON',
    metadata: { stage: attempt.stage, unit: attempt.unit, crashes },
    error: { class: 'WORKER_CRASH', message, stage: attempt.stage },
  });
  await raiseExhausted(transaction, item, { reason: 'POISON', sentence: `${message}.` });
  await clearNeighbours(transaction, attempt);
}
