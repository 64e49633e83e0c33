import type pg from 'pg';
import type { JobBegin, JobBegun, JobEnd } from '../../core/jobs.js';
import type { Sql } from '../../ports/sql.js';
import { inTransaction } from '../postgres/client.js';
import { storableJson } from '../postgres/parameters.js';

/** What an execution is marked with whose worker died over it. */
const DIED = 'it was still running past its timeout: its run died';

/** Writes the row before anything is done. An earlier one that is past its timeout died: it is neither "never ran" nor
 *  "already ran", so it is marked failed here, and its window is free again. */
export async function beginJob(pool: pg.Pool, begin: JobBegin): Promise<JobBegun> {
  return inTransaction(pool, async (transaction) => {
    await failDead(transaction, begin.job);
    const row = (await insertJob(transaction, begin)) ?? (await findBegun(transaction, begin.runId));
    return row ? { begun: true, id: row.id, startedAt: row.startedAt.toISOString() } : { begun: false };
  });
}

interface Begun {
  id: string;
  startedAt: Date;
}

/** Undefined: the window is taken, or this run began it before. */
async function insertJob(transaction: Sql, begin: JobBegin): Promise<Begun | undefined> {
  const { rows } = await transaction.query<Begun>(
    `INSERT INTO job_executions (job, run_id, window_key, timeout_at)
     VALUES ($1, $2, $3, now() + $4 * interval '1 millisecond') ON CONFLICT DO NOTHING
     RETURNING id::text, started_at AS "startedAt"`,
    [begin.job, begin.runId, begin.windowKey ?? null, begin.timeoutMs],
  );
  return rows[0];
}

/** A begin whose answer was lost comes again under the same run id. */
async function findBegun(transaction: Sql, runId: string): Promise<Begun | undefined> {
  const { rows } = await transaction.query<Begun>(
    `SELECT id::text, started_at AS "startedAt" FROM job_executions WHERE run_id = $1 AND status = 'running'`,
    [runId],
  );
  return rows[0];
}

async function failDead(transaction: Sql, job: string): Promise<void> {
  await transaction.query(
    `UPDATE job_executions SET status = 'failed', ended_at = timeout_at, errors = errors || to_jsonb($2::text)
     WHERE job = $1 AND status = 'running' AND timeout_at < now()`,
    [job, DIED],
  );
}

/** Ends an execution. One that was given up meanwhile stays failed: its window may have been done by another. */
export async function endJob(pool: pg.Pool, end: JobEnd): Promise<void> {
  await inTransaction(pool, async (transaction) => {
    if (end.idle && (await joinIdle(transaction, end))) return;
    await transaction.query(
      `UPDATE job_executions SET status = $2, ended_at = now(), idle = $3, result = $4::jsonb, phases = $5::jsonb,
         errors = $6::jsonb
       WHERE id = $1 AND status = 'running'`,
      [end.id, end.status, end.idle, ...factsOf(end), storableJson(end.errors)],
    );
  });
}

/** Runs in a row that found nothing share one row, which shows the last. Of two that end at once, the second waits for the
 *  first one's update and counts on. */
async function joinIdle(transaction: Sql, end: JobEnd): Promise<boolean> {
  const { rowCount } = await transaction.query(
    `WITH before AS (
       SELECT b.id FROM job_executions mine JOIN job_executions b ON b.job = mine.job AND b.id < mine.id
       WHERE mine.id = $1 AND mine.status = 'running' AND mine.window_key IS NULL
       ORDER BY b.id DESC LIMIT 1
     ), joined AS (
       UPDATE job_executions j SET runs = j.runs + 1, ended_at = now(), result = $2::jsonb, phases = $3::jsonb
       FROM before WHERE j.id = before.id AND j.idle AND j.status = 'completed' RETURNING 1
     )
     DELETE FROM job_executions WHERE id = $1 AND EXISTS (SELECT 1 FROM joined)`,
    [end.id, ...factsOf(end)],
  );
  return rowCount === 1;
}

function factsOf({ result, phases }: JobEnd): [string, string] {
  return [storableJson(result), storableJson(phases)];
}

export interface JobExecution {
  id: string;
  job: string;
  status: 'running' | 'completed' | 'failed';
  startedAt: Date;
  endedAt: Date | null;
  runs: number;
  result: Record<string, unknown>;
  phases: Record<string, number>;
  errors: string[];
}

/** The latest execution of each job. */
export async function listLatestJobs(sql: Sql, jobs: readonly string[]): Promise<JobExecution[]> {
  const { rows } = await sql.query<JobExecution>(
    `SELECT latest.* FROM unnest($1::text[]) AS wanted (job) CROSS JOIN LATERAL (
       SELECT id::text, job, CASE WHEN status = 'running' AND timeout_at < now() THEN 'failed' ELSE status END AS status,
         started_at AS "startedAt", ended_at AS "endedAt", runs, result, phases, errors
       FROM job_executions e WHERE e.job = wanted.job ORDER BY id DESC LIMIT 1
     ) latest`,
    [jobs],
  );
  return rows;
}
