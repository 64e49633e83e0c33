import type { Sql } from '../../ports/sql.js';

export interface SweepAge {
  job: string;
  /** When the last one that got to its end did; null: none ever has. */
  lastEndedAt: Date | null;
  /** How long ago that was, by the database's clock. */
  ageMs: number | null;
}

export async function readSweepAges(sql: Sql, jobs: readonly string[]): Promise<SweepAge[]> {
  const { rows } = await sql.query<SweepAge>(
    `SELECT wanted.job, latest.ended_at AS "lastEndedAt",
       (extract(epoch FROM clock_timestamp() - latest.ended_at) * 1000)::float8 AS "ageMs"
     FROM unnest($1::text[]) AS wanted (job) LEFT JOIN LATERAL (
       SELECT ended_at FROM job_executions e WHERE e.job = wanted.job AND e.status = 'completed' ORDER BY id DESC LIMIT 1
     ) latest ON true`,
    [jobs],
  );
  return rows;
}
