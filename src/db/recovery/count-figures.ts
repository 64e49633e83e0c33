import type pg from 'pg';
import { BUCKET_BOUNDS_MS } from '../../core/figures.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { Sql } from '../../ports/sql.js';
import { inTransaction } from '../postgres/client.js';
import { ATTEMPTS, endsOf, givingUpOf, MOVES } from './counted-rows.js';

export const FIGURE_SOURCES = ['attempts', 'audit'] as const;
export type FigureSource = (typeof FIGURE_SOURCES)[number];

export interface CountParts {
  pipelines: Readonly<Record<string, Pipeline>>;
  /** How long hours and days are kept. Older ones are not written again. */
  kept: { hourlyMetricsMs: number; dailyMetricsMs: number };
  /** Rows at a time. */
  limit: number;
}

/** `busy`: another process counts this source. `more`: the page was full. */
type Progress = 'busy' | 'more' | 'all';

/** Adds the next rows of a source to the figures, and moves the cursor on in the same transaction: each row is counted once, by
 *  whichever process. Rows of transactions at or above the horizon wait for the next count, because earlier transactions may still
 *  commit. */
export async function countFigures(pool: pg.Pool, source: FigureSource, parts: CountParts): Promise<Progress> {
  return inTransaction(pool, async (transaction) => {
    const cursor = await lockCursor(transaction, source);
    if (!cursor) return 'busy';
    const page = await addPage(transaction, source, { ...parts, cursor });
    const isFull = page.rows >= parts.limit;
    await storeCursor(transaction, source, cursorAfter(cursor, page, isFull));
    return isFull ? 'more' : 'all';
  });
}

interface Cursor {
  xact: string;
  rowId: string;
  since: Date | null;
  asOf: Date | null;
  markXact: string | null;
  markAt: Date | null;
}

const COLUMNS = `xact::text, row_id::text AS "rowId", since, as_of AS "asOf", mark_xact::text AS "markXact", mark_at AS "markAt"`;

/** The lock is advisory, because a locked row would give this transaction an id, and the horizon would stop below it. A cursor
 *  ahead of every transaction comes from the database that this one was restored from: the count begins anew with the rows that
 *  were written since. */
async function lockCursor(transaction: Sql, source: FigureSource): Promise<Cursor | undefined> {
  const { rows: locks } = await transaction.query<{ mine: boolean }>(
    `SELECT pg_try_advisory_xact_lock(hashtextextended('count figures: ' || $1, 0)) AS mine`,
    [source],
  );
  if (!locks[0]?.mine) return undefined;
  const { rows } = await transaction.query<Cursor & { isAhead: boolean }>(
    `SELECT ${COLUMNS}, xact > pg_snapshot_xmax(pg_current_snapshot()) AS "isAhead" FROM figure_cursors WHERE source = $1`,
    [source],
  );
  const [cursor] = rows;
  if (!cursor?.isAhead) return cursor;
  return { ...cursor, xact: '0', rowId: '0', since: cursor.asOf ?? cursor.since, markXact: null, markAt: null };
}

interface Page {
  rows: number;
  /** The last row; null: the page is empty. */
  xact: string | null;
  rowId: string | null;
  /** No row of a transaction below it can come any more. */
  horizon: string;
  /** The id of this transaction, which it gets after the horizon was read. */
  ownXact: string;
  now: Date;
}

async function addPage(
  transaction: Sql,
  source: FigureSource,
  { cursor, pipelines, kept, limit }: CountParts & { cursor: Cursor },
): Promise<Page> {
  const values = [cursor.xact, cursor.rowId, cursor.since, limit, kept.hourlyMetricsMs, kept.dailyMetricsMs];
  const tables = [JSON.stringify(endsOf(pipelines)), JSON.stringify(givingUpOf(pipelines))];
  const { rows } = await transaction.query<Page>(
    countStatement(source === 'audit' ? MOVES : ATTEMPTS),
    source === 'audit' ? [...values, ...tables] : values,
  );
  const [page] = rows;
  if (!page) throw new Error('a count has one row');
  return page;
}

/** After the last page no row lies between the cursor and the horizon. Every transaction that had an id at the time of the mark has
 *  a smaller id than the mark, so the figures are whole up to that time once the horizon has passed the mark. */
function cursorAfter(cursor: Cursor, page: Page, isFull: boolean): Cursor {
  const { xact, rowId, horizon, ownXact, now } = page;
  if (isFull && xact !== null && rowId !== null) return { ...cursor, xact, rowId };
  const moved = { ...cursor, xact: horizon, rowId: '0' };
  if (cursor.markXact === null) return { ...moved, markXact: ownXact, markAt: now };
  if (BigInt(cursor.markXact) >= BigInt(horizon)) return moved;
  return { ...moved, asOf: cursor.markAt, markXact: ownXact, markAt: now };
}

async function storeCursor(transaction: Sql, source: FigureSource, cursor: Cursor): Promise<void> {
  const { xact, rowId, since, asOf, markXact, markAt } = cursor;
  await transaction.query(
    `UPDATE figure_cursors SET xact = $2::xid8, row_id = $3, since = $4, as_of = $5, mark_xact = $6::xid8, mark_at = $7
     WHERE source = $1`,
    [source, xact, rowId, since, asOf, markXact, markAt],
  );
}

/** For every bucket, how many durations of a group lie in it. */
const BUCKETS = [...BUCKET_BOUNDS_MS, null].map((_, n) => `count(*) FILTER (WHERE bucket = ${n})`).join(', ');

/** `read_rows` has the rows up to the next cursor, and `counted` has a row for each duration. `ms - 1`, because a bound belongs to the bucket below it. */
function countStatement(source: string): string {
  return `
  WITH ${source}, placed AS (
    SELECT c.*, width_bucket(ms - 1, ARRAY[${BUCKET_BOUNDS_MS.join(', ')}]::bigint[]) AS bucket FROM counted c
  ), added AS (
    INSERT INTO figures AS f (span, at, pipeline, kind, stage, outcome, class, count, sum_ms, buckets)
    SELECT s.span, s.at, p.pipeline, p.kind, p.stage, p.outcome, p.class, count(*), sum(p.ms), ARRAY[${BUCKETS}]
    FROM placed p CROSS JOIN LATERAL (VALUES
      ('hour', date_trunc('hour', p.at, 'UTC'), now() - $5 * interval '1 millisecond' - interval '1 hour'),
      ('day', date_trunc('day', p.at, 'UTC'), now() - $6 * interval '1 millisecond' - interval '1 day'),
      ('total', '-infinity'::timestamptz, '-infinity'::timestamptz)) AS s (span, at, oldest)
    WHERE s.at >= s.oldest
    GROUP BY s.span, s.at, p.pipeline, p.kind, p.stage, p.outcome, p.class
    ON CONFLICT (span, at, pipeline, kind, stage, outcome, class) DO UPDATE SET
      count = f.count + excluded.count, sum_ms = f.sum_ms + excluded.sum_ms,
      buckets = ARRAY(SELECT a + b FROM unnest(f.buckets, excluded.buckets) WITH ORDINALITY AS both_of (a, b, n) ORDER BY n)
  )
  SELECT (SELECT count(*)::int FROM read_rows) AS rows, last.xact::text, last.id::text AS "rowId", now(),
    pg_snapshot_xmin(pg_current_snapshot())::text AS horizon, pg_current_xact_id()::text AS "ownXact"
  FROM (SELECT 1) AS always LEFT JOIN (SELECT xact, id FROM read_rows ORDER BY xact DESC, id DESC LIMIT 1) last ON true`;
}
