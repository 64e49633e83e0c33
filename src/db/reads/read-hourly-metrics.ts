import type { Sql } from '../../ports/sql.js';

export interface Bucket {
  pipeline: string;
  /** The beginning of the hour, or a day in UTC such as `2026-11-16`. */
  at: string;
  received: number;
  finished: number;
  failed: number;
  timedOut: number;
  byClass: Record<string, number>;
  durationMs: number;
}

const FIGURES = `received, finished, failed, timed_out AS "timedOut", by_class AS "byClass", duration_ms::float8 AS "durationMs"`;

/** Reads the hours, newest first. An hour that was never computed is left out, because unknown is not zero. */
export async function readHours(sql: Sql, pipeline: string): Promise<Bucket[]> {
  const { rows } = await sql.query<Bucket & { hour: Date }>(
    `SELECT pipeline, hour, ${FIGURES} FROM metrics_hourly
     WHERE pipeline = $1 ORDER BY hour DESC`,
    [pipeline],
  );
  return rows.map(({ hour, ...bucket }) => ({ ...bucket, at: hour.toISOString() }));
}

/** Reads the days whose hours were folded, in whole or in part, newest first. */
export async function readDays(sql: Sql, pipeline: string, limit: number): Promise<Bucket[]> {
  const { rows } = await sql.query<Bucket>(
    `SELECT pipeline, day::text AS at, ${FIGURES} FROM metrics_daily WHERE pipeline = $1 ORDER BY day DESC LIMIT $2`,
    [pipeline, limit],
  );
  return rows;
}
