import type { RetentionPart } from '../../ports/job.js';
import type { Sql } from '../../ports/sql.js';
import { goneTimeOf } from './gone-worker.js';

/** How long the engine's own rows are kept. */
export interface Kept {
  hourlyMetricsMs: number;
  dailyMetricsMs: number;
  jobExecutionsMs: number;
  notificationsMs: number;
  receiptsMs: number;
  workersMs: number;
}

/** The answer under an idempotency key is promised for a day. */
const IDEMPOTENCY_KEYS_MS = 86_400_000;

/** The time before which a row is old, by the database's clock. */
export const AGO = `now() - $1 * interval '1 millisecond'`;

const ENDED = `status <> 'running' AND ended_at < ${AGO}`;

/** It has been routed, and every way it was to go is gone or given up; its deliveries are deleted with it. */
const SETTLED = `created_at < ${AGO} AND routed_at IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM deliveries d WHERE d.event_id = old.id AND d.delivered_at IS NULL AND d.failed_at IS NULL)`;

/** A running task that still names its worker needs the row: it says that the worker is gone. */
const GONE = `${goneTimeOf('old')} < ${AGO}
  AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.worker = old.id AND t.status = 'running')`;

/** An hour or a day is deleted when it has been over for as long as it is kept. The total counts the same attempts and moves. */
function olderThan(span: 'hour' | 'day'): string {
  return `span = '${span}' AND at < ${AGO} - interval '1 ${span}'`;
}

export const WORKER_DEATHS = 'worker_deaths';

/** The engine's rows that grow old, in the order in which they are removed. */
export const ENGINE_KEEPS: readonly RetentionPart<Kept>[] = [
  { name: 'hourlyMetrics', keptMs: (kept) => kept.hourlyMetricsMs, table: 'figures', isOld: olderThan('hour') },
  { name: 'dailyMetrics', keptMs: (kept) => kept.dailyMetricsMs, table: 'figures', isOld: olderThan('day') },
  { name: 'jobExecutions', keptMs: (kept) => kept.jobExecutionsMs, table: 'job_executions', isOld: ENDED },
  // Nobody has started the job under this key for as long as executions are kept.
  { name: 'jobCursors', keptMs: (kept) => kept.jobExecutionsMs, table: 'job_cursors', isOld: `stored_at < ${AGO}` },
  { name: 'outbox', keptMs: (kept) => kept.notificationsMs, table: 'outbox', isOld: SETTLED },
  { name: 'receipts', keptMs: (kept) => kept.receiptsMs, table: 'receipts', isOld: `acted_at < ${AGO}` },
  {
    name: 'idempotencyKeys',
    keptMs: () => IDEMPOTENCY_KEYS_MS,
    table: 'idempotency_keys',
    isOld: `created_at < ${AGO}`,
  },
  { name: 'workers', keptMs: (kept) => kept.workersMs, removeOld: removeWorkers },
];

/** Removes one batch of old rows and answers how many rows it was. The rows are found first and locked, so that two batches at once
 *  divide the rows between them. */
export async function removeBatch(sql: Sql, part: RetentionPart, keptMs: number, rows: number): Promise<number> {
  if ('removeOld' in part) return part.removeOld(sql, keptMs, rows);
  const { table, isOld } = part;
  const { rowCount } = await sql.query(
    `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM ${table} old WHERE ${isOld} LIMIT $2 FOR UPDATE SKIP LOCKED))`,
    [keptMs, rows],
  );
  return rowCount ?? 0;
}

/** The deaths of deleted workers stay counted. */
async function removeWorkers(sql: Sql, keptMs: number, rows: number): Promise<number> {
  const { rows: removed } = await sql.query<{ count: number }>(
    `WITH gone AS (
       DELETE FROM workers WHERE ctid = ANY (ARRAY(SELECT ctid FROM workers old WHERE ${GONE} LIMIT $2 FOR UPDATE SKIP LOCKED))
       RETURNING deaths
     ), kept AS (
       INSERT INTO totals (name, value) SELECT $3, sum(deaths) FROM gone HAVING sum(deaths) > 0
       ON CONFLICT (name) DO UPDATE SET value = totals.value + excluded.value
     )
     SELECT count(*)::int FROM gone`,
    [keptMs, rows, WORKER_DEATHS],
  );
  return removed[0]?.count ?? 0;
}
