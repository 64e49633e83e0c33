import type { ErrorClass } from '../../core/error-class.js';
import type { Sql } from '../../ports/sql.js';

/** The columns of `items` that decisions are made on. */
export interface ItemRow {
  id: string;
  pipeline: string;
  owner: string;
  state: string;
  visit: number;
  epoch: number;
  version: number;
  started: boolean;
  rescues: number;
  lastRescueAt: Date | null;
  allowPartial: boolean;
  pausedForMs: number | null;
  errorClass: ErrorClass | null;
  endedAt: Date | null;
  /** By the database's clock. */
  now: Date;
}

/** A pause without an end: as long as the longest timer that makes sense; the run asks again then. */
export const FOR_EVER_MS = 365 * 24 * 3_600_000;

/** How long until that time, in whole milliseconds. Servers before 17 can't subtract from infinity. */
export function msUntil(time: string): string {
  return `CASE WHEN NOT isfinite(${time}) THEN ${String(FOR_EVER_MS)}
    ELSE least(${String(FOR_EVER_MS)}, ceil(extract(epoch FROM ${time} - now()) * 1000)) END::float8`;
}

/** That an item whose id is given is live, in words that match no partial index: a plan made while the tables were empty would
 *  walk one of those, with every dead entry in it, for as long as the connection lives, and not the primary key. */
export const IS_LIVE = `coalesce(ended_at, 'infinity') = 'infinity'`;

const ITEM_COLUMNS = `
  id, pipeline, owner, state, visit, epoch, version, started, rescues, allow_partial AS "allowPartial",
  last_rescue_at AS "lastRescueAt", error_class AS "errorClass", ended_at AS "endedAt", now() AS now,
  CASE WHEN paused_until > now() THEN ${msUntil('paused_until')} END AS "pausedForMs"`;

/** Locks the item before anything else of it is looked at; every transaction of the spine begins so. */
export async function lockItem(transaction: Sql, itemId: string): Promise<ItemRow | null> {
  const { rows } = await transaction.query<ItemRow>(
    `SELECT ${ITEM_COLUMNS} FROM items WHERE id = $1 FOR NO KEY UPDATE`,
    [itemId],
  );
  return rows[0] ?? null;
}

/** The item's run has looked at its row: it is started, and need not be woken for what the row says now. */
export async function markSeen(transaction: Sql, itemId: string): Promise<void> {
  await transaction.query(
    `UPDATE items SET started = true, wake_after = NULL, wake_tries = 0
     WHERE id = $1 AND (NOT started OR wake_after IS NOT NULL)`,
    [itemId],
  );
}
