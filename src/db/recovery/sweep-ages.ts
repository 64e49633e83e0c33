import type { SweepAge } from '../../core/late-sweeps.js';
import type { Sql } from '../../ports/sql.js';

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
