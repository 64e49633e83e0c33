import type pg from 'pg';
import type { RetentionStep } from '../core/jobs.js';
import { foldHourlyMetrics } from './fold-metrics.js';

/** How long each is kept. */
export interface Kept {
  hourlyMetricsMs: number;
  jobExecutionsMs: number;
  notificationsMs: number;
  receiptsMs: number;
  workersMs: number;
}

export interface Batch {
  count: number;
  isLast: boolean;
}

/** A statement over this many rows takes well under a second and holds few locks. */
const BATCH_ROWS = 1_000;

/** The answer under an idempotency key is promised for a day. */
const IDEMPOTENCY_KEYS_MS = 86_400_000;

/** Deletes one batch of what is old enough; hourly metrics are folded into their day first. */
export async function retainBatch(pool: pg.Pool, kept: Kept, step: RetentionStep, rows = BATCH_ROWS): Promise<Batch> {
  const count = await removedBy(pool, kept, step, rows);
  return { count, isLast: count < rows };
}

function removedBy(pool: pg.Pool, kept: Kept, step: RetentionStep, rows: number): Promise<number> {
  const remove = (old: Old): Promise<number> => removeOld(pool, old, rows);
  switch (step) {
    case 'hourlyMetrics':
      return foldHourlyMetrics(pool, kept.hourlyMetricsMs, rows);
    case 'jobExecutions':
      return remove({ table: 'job_executions', isOld: ENDED, keptMs: kept.jobExecutionsMs });
    case 'outbox':
      return remove({ table: 'outbox', isOld: SETTLED, keptMs: kept.notificationsMs });
    case 'receipts':
      return remove({ table: 'receipts', isOld: `acted_at < ${AGO}`, keptMs: kept.receiptsMs });
    case 'idempotencyKeys':
      return remove({ table: 'idempotency_keys', isOld: `created_at < ${AGO}`, keptMs: IDEMPOTENCY_KEYS_MS });
    case 'workers':
      return removeWorkers(pool, kept.workersMs, rows);
  }
}

const AGO = `now() - $1 * interval '1 millisecond'`;

const ENDED = `status <> 'running' AND ended_at < ${AGO}`;

/** It has been routed, and every way it was to go is gone or given up; its deliveries are deleted with it. */
const SETTLED = `created_at < ${AGO} AND routed_at IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM deliveries d WHERE d.event_id = old.id AND d.delivered_at IS NULL AND d.failed_at IS NULL)`;

/** A running task that still names its worker needs the row: it says that the worker is gone. */
const GONE = `(stopped_at < ${AGO} OR died_at < ${AGO})
  AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.worker = old.id AND t.status = 'running')`;

export const WORKER_DEATHS = 'worker_deaths';

/** Their deaths stay counted. */
async function removeWorkers(pool: pg.Pool, keptMs: number, rows: number): Promise<number> {
  const { rows: removed } = await pool.query<{ count: number }>(
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

interface Old {
  table: string;
  isOld: string;
  keptMs: number;
}

/** Found first and locked, so that two at once divide the rows between them. */
async function removeOld(pool: pg.Pool, { table, isOld, keptMs }: Old, rows: number): Promise<number> {
  const { rowCount } = await pool.query(
    `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM ${table} old WHERE ${isOld} LIMIT $2 FOR UPDATE SKIP LOCKED))`,
    [keptMs, rows],
  );
  return rowCount ?? 0;
}
