import type pg from 'pg';
import type { Reason } from '../../core/diagnosis.js';
import { storableText } from '../postgres/parameters.js';

/** The reason that a sweep found for an item's silence. */
export interface SweptReason {
  reason: Reason;
  at: Date;
  /** The failure of a wedged run. */
  wedgedBy: string | null;
}

/** An item as the sweep saw it, and the reason that the sweep found. */
export interface FoundReason extends SweptReason {
  id: string;
  epoch: number;
  version: number;
}

/** Whether the stored reason of a row `i` still holds: the item has not moved, beat or been started since. */
export const REASON_HOLDS = `(i.ended_at IS NULL AND i.reason IS NOT NULL
  AND i.reason_at >= greatest(i.beat_at, i.updated_at, i.accepted_at) AND NOT EXISTS (
    SELECT 1 FROM tasks t WHERE t.item_id = i.id AND t.visit = i.visit AND t.status = 'running' AND t.beat_at > i.reason_at))`;

/** Stores what a page of a sweep found. An item that has moved since has another reason. An item that another transaction is writing
 *  moves at this moment, so the statement does not wait for it. */
export async function storeReasons(pool: pg.Pool, found: readonly FoundReason[]): Promise<void> {
  if (found.length === 0) return;
  await pool.query(
    `WITH found AS (
       SELECT * FROM unnest($1::uuid[], $2::int[], $3::int[], $4::text[], $5::timestamptz[], $6::text[])
         AS f (item_id, epoch, version, reason, at, wedged_by)
     ), locked AS (
       SELECT i.id FROM items i JOIN found f ON i.id = f.item_id AND i.epoch = f.epoch AND i.version = f.version
       WHERE i.ended_at IS NULL FOR NO KEY UPDATE OF i SKIP LOCKED
     )
     UPDATE items SET reason = f.reason, reason_at = f.at, wedged_by = f.wedged_by
     FROM locked JOIN found f ON f.item_id = locked.id WHERE items.id = locked.id`,
    [
      found.map(({ id }) => id),
      found.map(({ epoch }) => epoch),
      found.map(({ version }) => version),
      found.map(({ reason }) => reason),
      found.map(({ at }) => at),
      found.map(({ wedgedBy }) => wedgedBy && storableText(wedgedBy)),
    ],
  );
}
