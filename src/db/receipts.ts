import type { Sql } from '../ports/sql.js';
import { type Attempt, taskKey } from './attempt.js';
import { storableText } from './parameters.js';
import type { Actor } from './transition.js';

/** Why an item had stopped, as the diagnosis said it. */
export interface Cause {
  reason: string;
  sentence: string;
  /** When that was seen, by the database's clock; without it, now. */
  seenAt?: Date;
}

export interface NewReceipt {
  item: { id: string; pipeline: string; state: string; visit: number };
  /** Of the run that goes on. */
  epoch: number;
  cause: Cause;
  actor: Actor;
  result: 'waiting' | 'exhausted' | 'parked';
}

/** The record of a rescue, an exhaustion or a parking. Call it in their transaction and before their move, which takes the
 *  item's running tasks and is a sign of life itself. What is run again is what was begun and not finished. */
export async function writeReceipt(transaction: Sql, { item, epoch, cause, actor, result }: NewReceipt): Promise<void> {
  await transaction.query(
    `INSERT INTO receipts (item_id, pipeline, state, visit, epoch, reason, sentence, last_sign_at, seen_at, acted_at,
       stages_again, actor, actor_type, result)
     SELECT id, pipeline, state, visit, $2, $3, $4, greatest(beat_at, (
         SELECT max(beat_at) FROM tasks WHERE item_id = $1 AND visit = $9 AND status = 'running')),
       COALESCE($5::timestamptz, now()), now(), CASE WHEN $8 = 'waiting' THEN ARRAY(
         SELECT stage FROM tasks WHERE item_id = $1 AND visit = $9 AND status = ANY (ARRAY['waiting', 'running']) AND attempt > 0
         GROUP BY stage ORDER BY min(started_at)) ELSE '{}' END,
       $6, $7, $8
     FROM items WHERE id = $1`,
    [
      ...[item.id, epoch, cause.reason, storableText(cause.sentence), cause.seenAt ?? null],
      ...[actor.id, actor.type, result, item.visit],
    ],
  );
}

/** The rescued item's run has taken its first step. */
export async function markRescueMoving(transaction: Sql, item: { id: string; epoch: number }): Promise<void> {
  await transaction.query(movingStatement('$1', '$2'), [item.id, item.epoch]);
}

/** As part of a larger statement. An item that is null matches nothing, at the price of one look into a small index. */
export function movingStatement(itemId: string, epoch: string): string {
  return `UPDATE receipts SET moving_at = now(), result = 'moving'
      WHERE item_id = ${itemId} AND epoch = ${epoch} AND stage IS NULL AND moving_at IS NULL AND result = 'waiting'`;
}

/** The suspect that had to wait since its crash runs. */
export async function markCrashMoving(transaction: Sql, attempt: Attempt): Promise<void> {
  await transaction.query(
    `UPDATE receipts SET moving_at = now(), result = 'moving'
     WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4 AND moving_at IS NULL AND result = 'waiting'`,
    taskKey(attempt),
  );
}
