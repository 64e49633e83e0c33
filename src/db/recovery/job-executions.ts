import type pg from 'pg';
import {
  type JobBegin,
  type JobBegun,
  type JobCursor,
  type JobEnd,
  type JobInput,
  type JobRecord,
  type JobStatus,
  type JobTimeout,
  resultOf,
} from '../../core/jobs.js';
import type { Sql } from '../../ports/sql.js';
import { inTransaction } from '../postgres/client.js';
import { storableJson } from '../postgres/parameters.js';

/** The error of an execution whose worker died during it. */
const DIED = 'it was still running past its timeout: its run died';

/** A run past its timeout has ended. To other jobs it has ended a little later, in case the clocks of Temporal and of the database
 *  differ. */
const MARGIN_MS = 60_000;

/** Dead executions that one begin marks. The next begin goes on. */
const MAX_DEAD = 100;

/** Writes the row before any work is done. Marks an execution past its timeout as failed, which frees its window. The execution may be
 *  of another job, which was started by hand or is switched off, so that no run of it follows. */
export async function beginJob(pool: pg.Pool, begin: JobBegin): Promise<JobBegun> {
  return inTransaction(pool, async (transaction) => {
    await failDead(transaction, begin.job);
    const row = (await insertJob(transaction, begin)) ?? (await findBegun(transaction, begin.runId));
    if (!row) return { begun: false };
    const cursor = begin.input && (await findCursor(transaction, begin));
    return { begun: true, id: row.id, startedAt: row.startedAt.toISOString(), ...(cursor !== undefined && { cursor }) };
  });
}

interface Begun {
  id: string;
  startedAt: Date;
}

/** Undefined: the window is taken, or this run began it before. */
async function insertJob(transaction: Sql, begin: JobBegin): Promise<Begun | undefined> {
  const { rows } = await transaction.query<Begun>(
    `INSERT INTO job_executions (job, run_id, window_key, timeout_at, join_key)
     VALUES ($1, $2, $3, coalesce($4::timestamptz, now() + $5 * interval '1 millisecond'), $6) ON CONFLICT DO NOTHING
     RETURNING id::text, started_at AS "startedAt"`,
    [begin.job, begin.runId, begin.windowKey ?? null, ...timeoutOf(begin), begin.key ?? ''],
  );
  return rows[0];
}

function timeoutOf(timeout: JobTimeout): [string | null, number | null] {
  return 'timeoutAt' in timeout ? [timeout.timeoutAt, null] : [null, timeout.timeoutMs];
}

/** A begin whose answer was lost comes again under the same run id. */
async function findBegun(transaction: Sql, runId: string): Promise<Begun | undefined> {
  const { rows } = await transaction.query<Begun>(
    `SELECT id::text, started_at AS "startedAt" FROM job_executions WHERE run_id = $1 AND status = 'running'`,
    [runId],
  );
  return rows[0];
}

/** A cursor says nothing to a run with another input, such as another keyword. */
async function findCursor(transaction: Sql, { job, key = '', input }: JobBegin): Promise<JobCursor | undefined> {
  const { rows } = await transaction.query<{ cursor: JobCursor }>(
    `SELECT cursor FROM job_cursors WHERE job = $1 AND join_key = $2 AND input = $3::jsonb`,
    [job, key, storableJson(input)],
  );
  return rows[0]?.cursor;
}

/** Begins at the same time divide the dead rows between them, so that neither waits for the other. */
async function failDead(transaction: Sql, job: string): Promise<void> {
  await transaction.query(
    `UPDATE job_executions SET status = 'failed', ended_at = timeout_at, errors = errors || to_jsonb($1::text)
     WHERE id = ANY (ARRAY(
       SELECT id FROM job_executions WHERE status = 'running'
         AND timeout_at < now() - CASE WHEN job = $2 THEN 0 ELSE $3::int END * interval '1 millisecond'
       ORDER BY id LIMIT $4 FOR UPDATE SKIP LOCKED))`,
    [DIED, job, MARGIN_MS, MAX_DEAD],
  );
}

/** Shows the progress of a run after a page. A page whose attempt was given up may end late, and must not set the row
 *  back. */
export async function noteProgress(sql: Sql, id: string, record: JobRecord): Promise<void> {
  await sql.query(
    `UPDATE job_executions SET result = $2::jsonb, phases = $3::jsonb, errors = $4::jsonb, cost_cents = $5
     WHERE id = $1 AND status = 'running' AND coalesce((result ->> 'pages')::int, 0) < $6`,
    [id, ...factsOf(progressOf(record)), storableJson(record.errors), record.costCents, record.pages],
  );
}

function progressOf(record: JobRecord): Pick<JobEnd, 'result' | 'phases'> {
  return { result: resultOf(record, false), phases: record.phases };
}

/** Ends an execution, and keeps or forgets the place where the next run goes on. An execution that was given up meanwhile stays
 *  failed: its window may have been done by another. */
export async function endJob(pool: pg.Pool, end: JobEnd): Promise<void> {
  await inTransaction(pool, async (transaction) => {
    if (end.goesOn === null) await dropCursor(transaction, end.id);
    else if (end.goesOn) await storeCursor(transaction, end.id, end.goesOn);
    if (end.idle && (await joinIdle(transaction, end))) return;
    await transaction.query(
      `UPDATE job_executions SET status = $2, ended_at = now(), idle = $3, result = $4::jsonb, phases = $5::jsonb,
         errors = $6::jsonb, cost_cents = $7
       WHERE id = $1 AND status = 'running'`,
      [end.id, end.status, end.idle, ...factsOf(end), storableJson(end.errors), end.costCents ?? 0],
    );
  });
}

/** Only of a running execution: an end that is told twice changes nothing, because the next run may have begun. */
async function storeCursor(transaction: Sql, id: string, { input, cursor }: Kept): Promise<void> {
  await transaction.query(
    `INSERT INTO job_cursors (job, join_key, input, cursor)
     SELECT job, join_key, $2::jsonb, $3::jsonb FROM job_executions WHERE id = $1 AND status = 'running'
     ON CONFLICT (job, join_key) DO UPDATE SET input = excluded.input, cursor = excluded.cursor, stored_at = now()`,
    [id, storableJson(input), storableJson(cursor)],
  );
}

interface Kept {
  input: JobInput;
  cursor: JobCursor;
}

async function dropCursor(transaction: Sql, id: string): Promise<void> {
  await transaction.query(
    `DELETE FROM job_cursors c USING job_executions e
     WHERE e.id = $1 AND e.status = 'running' AND c.job = e.job AND c.join_key = e.join_key`,
    [id],
  );
}

/** Idle runs in a row share one row. A run started by hand keeps its own row. Two runs that end together are both counted. */
async function joinIdle(transaction: Sql, end: JobEnd): Promise<boolean> {
  const { rowCount } = await transaction.query(
    `WITH before AS (
       SELECT b.id FROM job_executions mine JOIN job_executions b ON b.job = mine.job AND b.id < mine.id
       WHERE mine.id = $1 AND mine.status = 'running' AND mine.window_key IS NULL AND mine.join_key = ''
       ORDER BY b.id DESC LIMIT 1
     ), joined AS (
       UPDATE job_executions j SET runs = j.runs + 1, ended_at = now(), result = $2::jsonb, phases = $3::jsonb
       FROM before WHERE j.id = before.id AND j.idle AND j.status = 'completed' AND j.join_key = '' RETURNING 1
     )
     DELETE FROM job_executions WHERE id = $1 AND EXISTS (SELECT 1 FROM joined)`,
    [end.id, ...factsOf(end)],
  );
  return rowCount === 1;
}

function factsOf({ result, phases }: Pick<JobEnd, 'result' | 'phases'>): [string, string] {
  return [storableJson(result), storableJson(phases)];
}

export interface JobExecution {
  id: string;
  job: string;
  status: 'running' | JobStatus;
  /** '' of a run that a schedule started. */
  key: string;
  startedAt: Date;
  endedAt: Date | null;
  runs: number;
  result: Record<string, unknown>;
  phases: Record<string, number>;
  errors: string[];
  costCents: number;
}

/** The latest execution of each job, by the numeric id and not its text. */
export async function listLatestJobs(sql: Sql, jobs: readonly string[]): Promise<JobExecution[]> {
  const { rows } = await sql.query<JobExecution>(
    `SELECT latest.* FROM unnest($1::text[]) AS wanted (job) CROSS JOIN LATERAL (
       SELECT id::text, job, CASE WHEN status = 'running' AND timeout_at < now() THEN 'failed' ELSE status END AS status,
         started_at AS "startedAt", ended_at AS "endedAt", runs, result, phases, errors,
         join_key AS key, cost_cents AS "costCents"
       FROM job_executions e WHERE e.job = wanted.job ORDER BY e.id DESC LIMIT 1
     ) latest`,
    [jobs],
  );
  return rows;
}
