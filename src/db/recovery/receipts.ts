import type { Sql } from '../../ports/sql.js';
import { type Attempt, taskKey } from '../spine/attempt.js';
import { storableText } from '../postgres/parameters.js';
import type { Actor } from '../spine/transition.js';

/** Why the item had stopped, by its diagnosis. */
export interface Cause {
  reason: string;
  sentence: string;
  /** When the diagnosis was made, by the database's clock; without it, now. */
  seenAt?: Date;
}

export interface NewReceipt {
  item: { id: string; pipeline: string; state: string; visit: number };
  /** The epoch of the run that goes on. */
  epoch: number;
  cause: Cause;
  actor: Actor;
  result: 'waiting' | 'exhausted' | 'parked';
}

/** Writes the record of a rescue, an exhaustion, a parking or a lost start. Call it in the action's transaction and
 *  before its move, because the move releases the item's running tasks and is itself a sign of life. The stages that
 *  run again are those that were begun and not finished. */
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

/** Records that the rescued item's run has taken its first step. */
export async function markRescueMoving(transaction: Sql, item: { id: string; epoch: number }): Promise<void> {
  await transaction.query(movingStatement('$1', '$2'), [item.id, item.epoch]);
}

/** The same as part of a larger statement. An item id that is null matches no row and costs one look into a small
 *  index. */
export function movingStatement(itemId: string, epoch: string): string {
  return `UPDATE receipts SET moving_at = now(), result = 'moving'
      WHERE item_id = ${itemId} AND epoch = ${epoch} AND stage IS NULL AND moving_at IS NULL AND result = 'waiting'`;
}

/** The values of one task's receipt as SQL. The relation `from` is named `t`. */
interface TaskReceipt {
  pipeline: string;
  state: string;
  epoch: string;
  reason: string;
  sentence: string;
  seenAt: string;
  result: string;
}

/** The record of a task that is taken from a worker. `now()` is the time at which the transaction began. A beat or a
 *  sighting may be later than that, if the transaction waited for a lock. */
export function taskReceipt(from: string, of: TaskReceipt): string {
  return `INSERT INTO receipts (item_id, pipeline, state, visit, epoch, stage, unit, reason, sentence, last_sign_at, seen_at, acted_at,
      stages_again, actor, actor_type, result)
    SELECT t.item_id, ${of.pipeline}::text, ${of.state}::text, t.visit, ${of.epoch}::int, t.stage, t.unit, ${of.reason}, ${of.sentence},
      least(COALESCE(t.beat_at, t.started_at), ${of.seenAt}, now()), least(${of.seenAt}, now()), now(), ARRAY[t.stage], 'system', 'system', ${of.result}
    FROM ${from}`;
}

/** Whether a row of `tasks` was taken from a worker and has not been granted to another worker since. */
export const HAS_OPEN_RECEIPT = `EXISTS (SELECT 1 FROM receipts r WHERE r.item_id = tasks.item_id AND r.visit = tasks.visit
         AND r.stage = tasks.stage AND r.unit = tasks.unit AND r.moving_at IS NULL AND r.result = 'waiting')`;

/** Records that the task runs again. It may have waited before, as a suspect or for a breaker. */
export async function markTaskMoving(transaction: Sql, attempt: Attempt): Promise<void> {
  await transaction.query(
    `UPDATE receipts SET moving_at = now(), result = 'moving'
     WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4 AND moving_at IS NULL AND result = 'waiting'`,
    taskKey(attempt),
  );
}
