import type { ErrorClass } from '../../core/error-class.js';
import { AppError } from '../../core/errors.js';
import type { RunRef } from '../../core/run.js';
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
  priority: number;
  rescues: number;
  lastRescueAt: Date | null;
  allowPartial: boolean;
  pausedForMs: number | null;
  errorClass: ErrorClass | null;
  endedAt: Date | null;
  /** By the database's clock. */
  now: Date;
}

/** A pause without an end lasts as long as the longest timer that makes sense. The run asks again then. */
export const FOR_EVER_MS = 365 * 24 * 3_600_000;

/** The milliseconds until a time, as SQL. Servers before 17 can't subtract from infinity. */
export function msUntil(time: string): string {
  return `CASE WHEN NOT isfinite(${time}) THEN ${FOR_EVER_MS}
    ELSE least(${FOR_EVER_MS}, ceil(extract(epoch FROM ${time} - now()) * 1000)) END::float8`;
}

/** The condition that an item found by its id is live. It is written so that it matches no partial index: a plan that is made while
 *  the tables are empty would walk such an index, with every dead entry in it, instead of the primary key, for as long as the
 *  connection lives. */
export const IS_LIVE = `coalesce(ended_at, 'infinity') = 'infinity'`;

const ITEM_COLUMNS = `
  id, pipeline, owner, state, visit, epoch, version, started, priority, rescues, allow_partial AS "allowPartial",
  last_rescue_at AS "lastRescueAt", error_class AS "errorClass", ended_at AS "endedAt", now() AS now,
  CASE WHEN paused_until > now() THEN ${msUntil('paused_until')} END AS "pausedForMs"`;

/** Locks the item. Every transaction of the spine begins with this lock, before it reads anything else of the item. */
export async function lockItem(transaction: Sql, itemId: string): Promise<ItemRow | null> {
  const { rows } = await transaction.query<ItemRow>(
    `SELECT ${ITEM_COLUMNS} FROM items WHERE id = $1 FOR NO KEY UPDATE`,
    [itemId],
  );
  return rows[0] ?? null;
}

/** An item without a row was deleted here if the audit has an entry of it. Otherwise the item belongs to another database, or this
 *  database was restored from a backup that is older than the item. Then the item's run must go on. */
export async function assertDeletedHere(sql: Sql, itemId: string): Promise<void> {
  const { rowCount } = await sql.query('SELECT 1 FROM audit WHERE item_id = $1 LIMIT 1', [itemId]);
  if (rowCount === 0) throw new AppError('item_unknown', `this database has no item ${itemId} and never had`);
}

/** The item's run has looked at its row: the run is started, and the row as it is now needs no wake. */
export async function markSeen(transaction: Sql, itemId: string): Promise<void> {
  await transaction.query(
    `UPDATE items SET started = true, wake_after = NULL, wake_tries = 0
     WHERE id = $1 AND (NOT started OR wake_after IS NOT NULL)`,
    [itemId],
  );
}

/** The last act of a run that ends before its item does, so that the sweep need not wait until the item has been silent. */
export async function markRunEnded(sql: Sql, run: RunRef): Promise<void> {
  await sql.query(
    `UPDATE items SET run_ended_at = now(), updated_at = now()
     WHERE id = $1 AND epoch = $2 AND ended_at IS NULL AND run_ended_at IS NULL`,
    [run.itemId, run.epoch],
  );
}
