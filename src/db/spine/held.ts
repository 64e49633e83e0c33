import type pg from 'pg';
import type { Sql } from '../../ports/sql.js';
import { holdName, PAUSE_NAME } from './hold.js';
import { type ItemRow, msUntil } from './item-row.js';

/** Why an item that has work to do must wait now. */
export interface Held {
  reason: 'paused' | 'breaker_open';
  forMs: number;
  /** The hold of the item's pipeline, by its name; null: the item itself is paused. */
  hold: string | null;
}

/** A run sleeps no longer than this on a hold of its pipeline. Should a wake be lost all the same, the item stands still for an hour
 *  and not for the length of the pause. */
const LONGEST_SLEEP_MS = 3_600_000;

/** Held items that sleep for the longest time must not all ask again at one moment. */
const JITTER = 0.1;

/** The pause of the item, or of its pipeline. */
export async function findPause(transaction: Sql, item: ItemRow): Promise<Held | null> {
  if (item.pausedForMs !== null) return { reason: 'paused', forMs: item.pausedForMs, hold: null };
  const { rows } = await transaction.query<{ forMs: number }>(
    `SELECT ${msUntil('until')} AS "forMs" FROM holds WHERE pipeline = $1 AND kind = 'pause' AND until > now()`,
    [item.pipeline],
  );
  const [pause] = rows;
  return pause ? { reason: 'paused', forMs: pause.forMs, hold: PAUSE_NAME } : null;
}

/** How long the run of a held item sleeps before it asks again, if nothing wakes it. `random` is from 0 to 1. */
function sleepMs(forMs: number, random: number): number {
  return Math.min(forMs, Math.ceil(LONGEST_SLEEP_MS * (1 - JITTER * random)));
}

/** Says how long the run of a locked item sleeps. A hold of the pipeline is noted on the item, so that the dispatcher wakes the item
 *  when that hold is gone. The transaction that answers also writes the mark, so no wake is lost between the two. */
export async function markHeld(transaction: Sql, item: Pick<ItemRow, 'id'>, { hold, forMs }: Held): Promise<number> {
  if (hold === null) return forMs;
  await transaction.query('UPDATE items SET held_by = $2 WHERE id = $1 AND held_by IS DISTINCT FROM $2', [
    item.id,
    hold,
  ]);
  return sleepMs(forMs, Math.random());
}

/** A locked item that works again needs no wake. A unit that works says nothing about the units beside it. */
export async function clearHeld(transaction: Sql, item: Pick<ItemRow, 'id'>): Promise<void> {
  await transaction.query('UPDATE items SET held_by = NULL WHERE id = $1 AND held_by IS NOT NULL', [item.id]);
}

/** The holds that items are marked with: one index look-up for each, however many items are marked. */
const MARKS = `
  (SELECT pipeline, held_by FROM items WHERE held_by IS NOT NULL AND ended_at IS NULL ORDER BY pipeline, held_by LIMIT 1)
  UNION ALL
  SELECT further.* FROM marks, LATERAL (
    SELECT i.pipeline, i.held_by FROM items i
    WHERE i.held_by IS NOT NULL AND i.ended_at IS NULL AND (i.pipeline, i.held_by) > (marks.pipeline, marks.held_by)
    ORDER BY i.pipeline, i.held_by LIMIT 1
  ) further`;

/** Clears the marks of one page of items whose hold is gone, and makes their wakes due. An item that is locked keeps its mark and is
 *  released by a later page. An item without a run needs no wake. Returns how many items the page had. */
export async function releaseHeld(pool: pg.Pool, limit: number): Promise<number> {
  const { rowCount } = await pool.query(
    `WITH RECURSIVE marks AS (${MARKS}), gone AS (
       SELECT pipeline, held_by FROM marks
       WHERE NOT EXISTS (
         SELECT 1 FROM holds h WHERE h.pipeline = marks.pipeline AND h.until > now() AND ${holdName('h')} = marks.held_by)
     ), page AS (
       SELECT each.id AS held_id FROM gone, LATERAL (
         SELECT i.id FROM items i
         WHERE i.pipeline = gone.pipeline AND i.held_by = gone.held_by AND i.held_by IS NOT NULL AND i.ended_at IS NULL
         ORDER BY i.id LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
       ) each LIMIT $1
     )
     UPDATE items SET held_by = NULL,
       wake_after = CASE WHEN started AND run_ended_at IS NULL THEN now() ELSE wake_after END,
       wake_tries = CASE WHEN started AND run_ended_at IS NULL THEN 0 ELSE wake_tries END
     WHERE id = ANY (ARRAY(SELECT held_id FROM page))`,
    [limit],
  );
  return rowCount ?? 0;
}
