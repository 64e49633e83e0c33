import { addDurations, type Figure } from '../../core/figures.js';
import type { Sql } from '../../ports/sql.js';

const COLUMNS = `pipeline, kind, stage, outcome, class, count::float8, sum_ms::float8 AS "sumMs", buckets::float8[]`;

/** All that was ever counted of these pipelines. */
export async function listTotalFigures(sql: Sql, pipelines: readonly string[]): Promise<Figure[]> {
  const { rows } = await sql.query<Figure>(
    `SELECT ${COLUMNS} FROM figures WHERE span = 'total' AND at = '-infinity' AND pipeline = ANY ($1::text[])
     ORDER BY pipeline, kind, stage, outcome, class`,
    [pipelines],
  );
  return rows;
}

/** The length of a span whose name is in a parameter. A day of 24 hours, because a day of the session's time zone may have 23 or 25. */
export function lengthOf(span: string): string {
  return `CASE ${span} WHEN 'day' THEN interval '24 hours' ELSE interval '1 hour' END`;
}

/** The figures of a pipeline for the latest hours or days in UTC, the present one included, added up. */
export async function sumLatestFigures(
  sql: Sql,
  pipeline: string,
  { span, count }: { span: 'hour' | 'day'; count: number },
): Promise<Figure[]> {
  const { rows } = await sql.query<Figure>(
    `SELECT ${COLUMNS} FROM figures
     WHERE span = $2 AND at > date_trunc($2, now(), 'UTC') - $3 * ${lengthOf('$2')} AND pipeline = $1`,
    [pipeline, span, count],
  );
  const sums = new Map<string, Figure>();
  for (const row of rows) {
    const key = [row.kind, row.stage, row.outcome, row.class].join('\n');
    const sum = sums.get(key);
    sums.set(key, sum ? { ...row, ...addDurations([sum, row]) } : row);
  }
  return [...sums.values()];
}

/** For how long rows have waited to be counted, at most. Null: nobody has counted yet. */
export async function readFiguresAge(sql: Sql): Promise<number | null> {
  const { rows } = await sql.query<{ seconds: number | null }>(
    `SELECT CASE WHEN count(as_of) = count(*) THEN extract(epoch FROM now() - min(as_of))::float8 END AS seconds
     FROM figure_cursors`,
  );
  return rows[0]?.seconds ?? null;
}
