import type pg from 'pg';
import type { RetentionStep } from '../../core/jobs.js';
import { foldHourlyMetrics } from './fold-metrics.js';

/** How long each is kept. */
export interface Kept {
  hourlyMetricsMs: number;
  jobExecutionsMs: number;
  notificationsMs: number;
  receiptsMs: number;
  workersMs: number;
  skillContentsMs: number;
  discoveredPackagesMs: number;
}

export interface Batch {
  count: number;
  isLast: boolean;
}

/** A statement over this many rows takes well under a second and holds few locks. */
const BATCH_ROWS = 1_000;

/** A content may be half a megabyte in hundreds of files, which are deleted with it. */
const BATCH_CONTENTS = 50;

/** The answer under an idempotency key is promised for a day. */
const IDEMPOTENCY_KEYS_MS = 86_400_000;

/** Deletes one batch of what is old enough; hourly metrics are folded into their day first. */
export async function retainBatch(pool: pg.Pool, kept: Kept, step: RetentionStep, rows = BATCH_ROWS): Promise<Batch> {
  const most = step === 'skillContents' ? Math.min(rows, BATCH_CONTENTS) : rows;
  const count = await removedBy(pool, kept, step, most);
  return { count, isLast: count < most };
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
    case 'skillContents':
      return remove({ table: 'skill_contents', isOld: UNSHOWN, keptMs: kept.skillContentsMs });
    case 'judgements':
      return remove({ table: 'judgements', isOld: OF_NOTHING, keptMs: kept.skillContentsMs });
    case 'discoveredPackages':
      return remove({ table: 'discovered_packages', isOld: SUPERSEDED, keptMs: kept.discoveredPackagesMs });
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

/** No version is published of it, and no submission that lives or has ended lately has it. Whoever fetches it again meanwhile sets
 *  `fetched_at` on, which is looked at once more when the row is locked. */
const UNSHOWN = `fetched_at < ${AGO}
  AND NOT EXISTS (SELECT 1 FROM skill_versions v WHERE v.content_hash = old.hash)
  AND NOT EXISTS (SELECT 1 FROM submissions s JOIN items i ON i.id = s.id
    WHERE s.content_hash = old.hash AND (i.ended_at IS NULL OR i.ended_at >= ${AGO}))`;

/** The content is gone, and nobody can be judged by it again. */
const OF_NOTHING = `judged_at < ${AGO} AND NOT EXISTS (SELECT 1 FROM skill_contents c WHERE c.hash = old.content_hash)`;

/** The newest version of a package stays, however old: without it, it would be looked at again and submitted once more. */
const SUPERSEDED = `found_at < ${AGO}
  AND EXISTS (SELECT 1 FROM discovered_packages newer WHERE newer.name = old.name AND newer.found_at > old.found_at)`;

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
