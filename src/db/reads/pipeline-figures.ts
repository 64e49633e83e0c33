import { isEnd } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { Sql } from '../../ports/sql.js';
import { lengthOf } from './figure-list.js';

export interface Bucket {
  /** The beginning of the hour, or a day in UTC such as `2026-11-16`. */
  at: string;
  received: number;
  finished: number;
  failed: number;
  timedOut: number;
  byClass: Record<string, number>;
  durationMs: number;
}

/** The sources are counted apart. Figures are whole where both are. */
const COUNTED = `
  SELECT max(begins_at) AS from, CASE WHEN count(as_of) = count(*) THEN min(as_of) END AS to FROM figure_cursors`;

const FIGURES = `
  COALESCE(sum(f.count) FILTER (WHERE f.kind = 'move' AND f.class = 'created'), 0)::float8 AS received,
  COALESCE(sum(f.count) FILTER (WHERE f.kind = 'end' AND f.outcome = ANY ($2::text[])), 0)::float8 AS finished,
  COALESCE(sum(f.count) FILTER (WHERE f.kind = 'end' AND f.outcome <> ALL ($2::text[])), 0)::float8 AS failed,
  COALESCE(sum(f.count) FILTER (WHERE f.kind = 'attempt' AND f.class = 'SCAN_TIMEOUT'), 0)::float8 AS "timedOut",
  COALESCE(sum(f.sum_ms) FILTER (WHERE f.kind = 'end'), 0)::float8 AS "durationMs"`;

/** Reads the hours, newest first. An hour that was not counted yet, or was over before figures began, is left out, because
 *  unknown is not zero. */
export async function readHours(sql: Sql, pipeline: Pipeline, limit: number): Promise<Bucket[]> {
  const rows = await readBuckets(sql, pipeline, 'hour', limit);
  return rows.map(({ begin, ...bucket }) => ({ ...bucket, at: begin.toISOString() }));
}

/** Reads the days in UTC, newest first. */
export async function readDays(sql: Sql, pipeline: Pipeline, limit: number): Promise<Bucket[]> {
  const rows = await readBuckets(sql, pipeline, 'day', limit);
  return rows.map(({ begin, ...bucket }) => ({ ...bucket, at: begin.toISOString().slice(0, 'YYYY-MM-DD'.length) }));
}

type BucketRow = Omit<Bucket, 'at'> & { begin: Date };

async function readBuckets(sql: Sql, pipeline: Pipeline, span: 'hour' | 'day', limit: number): Promise<BucketRow[]> {
  const { rows } = await sql.query<BucketRow>(
    `WITH counted AS (${COUNTED}), spans AS (
       SELECT begin FROM counted CROSS JOIN LATERAL generate_series(
         date_trunc($3, greatest(counted.from, now() - ($4 - 1) * ${lengthOf('$3')}), 'UTC'), counted.to, ${lengthOf('$3')}
       ) AS begin ORDER BY begin DESC LIMIT $4
     ), classes AS (
       SELECT at, jsonb_object_agg(class, count) AS by_class FROM (
         SELECT at, class, sum(count) AS count FROM figures
         WHERE span = $3 AND pipeline = $1 AND kind = 'attempt' AND class <> '' AND at >= (SELECT min(begin) FROM spans)
         GROUP BY at, class) each_class
       GROUP BY at
     )
     SELECT s.begin, ${FIGURES}, COALESCE(c.by_class, '{}') AS "byClass" FROM spans s
     LEFT JOIN figures f ON f.span = $3 AND f.at = s.begin AND f.pipeline = $1
     LEFT JOIN classes c ON c.at = s.begin
     GROUP BY s.begin, c.by_class ORDER BY s.begin DESC`,
    [pipeline.name, doneStates(pipeline), span, limit],
  );
  return rows;
}

interface Totals {
  received: number;
  finished: number;
  failed: number;
  timedOut: number;
  /** Up to when they are whole. Null: nobody has counted yet. */
  asOf: Date | null;
}

/** All that was ever counted. */
export async function readTotals(sql: Sql, pipeline: Pipeline): Promise<Totals> {
  const { rows } = await sql.query<Totals>(
    `SELECT ${FIGURES}, (SELECT counted.to FROM (${COUNTED}) counted) AS "asOf"
     FROM figures f WHERE f.span = 'total' AND f.pipeline = $1`,
    [pipeline.name, doneStates(pipeline)],
  );
  return rows[0] ?? { received: 0, finished: 0, failed: 0, timedOut: 0, asOf: null };
}

function doneStates(pipeline: Pipeline): string[] {
  return Object.entries(pipeline.states).flatMap(([state, row]) => (isEnd(row) && row.ends === 'done' ? [state] : []));
}
