import type pg from 'pg';
import { Parameters } from '../postgres/parameters.js';
import type { Receipt } from '../generated/client.js';

export interface ReceiptFilter {
  pipeline?: string | undefined;
  reason?: string | undefined;
  result?: string | undefined;
  /** The item was seen to stand still at this time or later. */
  since?: Date | undefined;
}

export type ListedReceipt = Omit<Receipt, 'id'> & { id: string };

const COLUMNS = `id::text AS id, item_id AS "itemId", pipeline, state, visit, epoch, stage, unit, reason, sentence,
  last_sign_at AS "lastSignAt", seen_at AS "seenAt", acted_at AS "actedAt", moving_at AS "movingAt",
  stages_again AS "stagesAgain", actor, actor_type AS "actorType", result`;

/** Lists the newest first, by the numeric id and not its text. `before` is the id of the last receipt of the page
 *  before. */
export async function listReceipts(
  pool: pg.Pool,
  filter: ReceiptFilter,
  page: { before: string | null; limit: number },
): Promise<ListedReceipt[]> {
  const p = new Parameters();
  const conditions = conditionsOf(filter, p);
  if (page.before !== null) conditions.push(`id < ${p.add(page.before)}::bigint`);
  const { rows } = await pool.query<ListedReceipt>(
    `SELECT ${COLUMNS} FROM receipts WHERE ${conditions.join(' AND ')} ORDER BY receipts.id DESC LIMIT ${p.add(page.limit)}`,
    p.values,
  );
  return rows;
}

/** Counts no further than `cap`. */
export async function countReceipts(pool: pg.Pool, filter: ReceiptFilter, cap: number): Promise<number> {
  const p = new Parameters();
  const conditions = conditionsOf(filter, p);
  const { rows } = await pool.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM (
       SELECT 1 FROM receipts WHERE ${conditions.join(' AND ')} LIMIT ${p.add(cap)}) counted`,
    p.values,
  );
  return rows[0]?.count ?? 0;
}

export interface RecoveryTimes {
  /** Null: all reasons together. */
  reason: string | null;
  count: number;
  /** Receipts whose item is known to move again. */
  moving: number;
  detectMedianMs: number | null;
  detectP95Ms: number | null;
  restartMedianMs: number | null;
  restartP95Ms: number | null;
}

/** How long it took to see that items stood still, and to get them moving. An item that never moved again has no
 *  restart time; it is left out and does not count as zero. */
export async function summarizeReceipts(pool: pg.Pool, filter: ReceiptFilter): Promise<RecoveryTimes[]> {
  const p = new Parameters();
  const { rows } = await pool.query<RecoveryTimes>(
    `SELECT CASE WHEN grouping(reason) = 0 THEN reason END AS reason, count(*)::int AS count, count(restart)::int AS moving,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY detect) AS "detectMedianMs",
       percentile_cont(0.95) WITHIN GROUP (ORDER BY detect) AS "detectP95Ms",
       percentile_cont(0.5) WITHIN GROUP (ORDER BY restart) AS "restartMedianMs",
       percentile_cont(0.95) WITHIN GROUP (ORDER BY restart) AS "restartP95Ms"
     FROM (
       SELECT reason, extract(epoch FROM seen_at - last_sign_at)::float8 * 1000 AS detect,
         extract(epoch FROM moving_at - seen_at)::float8 * 1000 AS restart
       FROM receipts WHERE ${conditionsOf(filter, p).join(' AND ')}
     ) times
     GROUP BY GROUPING SETS ((), (reason)) ORDER BY grouping(reason) DESC, count(*) DESC, reason`,
    p.values,
  );
  return rows;
}

function conditionsOf({ pipeline, reason, result, since }: ReceiptFilter, p: Parameters): string[] {
  const conditions = ['true'];
  if (pipeline !== undefined) conditions.push(`pipeline = ${p.add(pipeline)}`);
  if (reason !== undefined) conditions.push(`reason = ${p.add(reason)}`);
  if (result !== undefined) conditions.push(`result = ${p.add(result)}`);
  if (since !== undefined) conditions.push(`seen_at >= ${p.add(since)}`);
  return conditions;
}
