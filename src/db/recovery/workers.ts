import type pg from 'pg';
import type { PresenceLook, WorkerLook } from '../../core/presence-verdict.js';
import type { RunRef } from '../../core/run.js';
import type { Sql } from '../../ports/sql.js';

export interface WorkerProcess {
  id: string;
  name: string;
  host: string;
  pid: number;
  build: string;
  pipelines: string[];
}

/** The key of a worker's lock. A hash, and in one number space with the other advisory locks: 64 bits are enough to be alone. */
const LOCK_KEY = (id: string) => `hashtextextended('worker:' || ${id}::text, 0)`;

/** Held as long as the session lives. Shared: after a link has broken on our side only, the server still holds the old
 *  session's, and the new one must not wait for it. Nobody else wants this lock. */
export async function lockWorker(session: Sql, id: string): Promise<void> {
  await session.query(`SELECT pg_advisory_lock_shared(${LOCK_KEY('$1')})`, [id]);
}

/** Again after its lock was lost: whatever was believed of it meanwhile, it lives. */
export async function registerWorker(sql: Sql, worker: WorkerProcess): Promise<void> {
  await sql.query(
    `INSERT INTO workers (id, name, host, pid, build, pipelines, lock_key)
     VALUES ($1, $2, $3, $4, $5, $6, ${LOCK_KEY('$1')})
     ON CONFLICT (id) DO UPDATE SET seen_at = now(), stopped_at = NULL, seen_gone_at = NULL, died_at = NULL`,
    [worker.id, worker.name, worker.host, worker.pid, worker.build, worker.pipelines],
  );
}

/** Every few seconds: an operator sees which processes are there. Not a verdict on their lives. */
export async function seeWorker(pool: pg.Pool, id: string): Promise<void> {
  await pool.query('UPDATE workers SET seen_at = now() WHERE id = $1', [id]);
}

export async function retireWorker(pool: pg.Pool, id: string): Promise<void> {
  await pool.query('UPDATE workers SET stopped_at = now(), seen_at = now() WHERE id = $1', [id]);
}

/** The keys of all advisory locks that are held in this database, as `lock_key` has them. */
export const HELD_LOCKS = `
  SELECT DISTINCT (classid::bigint << 32) | objid::bigint AS key FROM pg_locks
  WHERE locktype = 'advisory' AND objsubid = 1 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/** The registered workers whose lock is held, those that were known to this session before, and those found dead by
 *  somebody who did not come to the end of it. One statement, several times a second: the registry's other rows stay out. */
const LOOK = `
  WITH held AS (${HELD_LOCKS})
  SELECT w.id, held.key IS NOT NULL AS "isHeld", w.seen_at AS "seenAt", w.seen_gone_at AS "seenGoneAt",
    clock_timestamp() AS now
  FROM workers w LEFT JOIN held ON held.key = w.lock_key
  WHERE w.stopped_at IS NULL AND w.died_at IS NULL
    AND (held.key IS NOT NULL OR w.seen_gone_at IS NOT NULL OR w.id = ANY ($1::text[]))`;

export async function lookAtWorkers(session: Sql, known: readonly string[]): Promise<PresenceLook> {
  const { rows } = await session.query<WorkerLook & { now: Date }>(LOOK, [known]);
  return { now: rows[0]?.now ?? new Date(0), workers: rows };
}

/** Says that the worker is dead, unless somebody has said so, it has signed off, or it has given a sign of life since the look.
 *  Returns when it was first said; null: it lives, or all has been done. */
export async function markSeenGone(
  pool: pg.Pool,
  { id, seenAt }: Pick<WorkerLook, 'id' | 'seenAt'>,
): Promise<Date | null> {
  const { rows } = await pool.query<{ seenGoneAt: Date }>(
    `UPDATE workers SET seen_gone_at = COALESCE(seen_gone_at, now())
     WHERE id = $1 AND stopped_at IS NULL AND died_at IS NULL AND seen_at = $2 RETURNING seen_gone_at AS "seenGoneAt"`,
    [id, seenAt],
  );
  return rows[0]?.seenGoneAt ?? null;
}

/** Whoever started the process saw it end: no watcher needs to wait for its lock to stay away. Of no effect on one that has signed
 *  off. */
export async function reportExit(sql: Sql, { host, pid }: Pick<WorkerProcess, 'host' | 'pid'>): Promise<void> {
  await sql.query(
    `UPDATE workers SET seen_gone_at = now()
     WHERE host = $1 AND pid = $2 AND stopped_at IS NULL AND died_at IS NULL AND seen_gone_at IS NULL`,
    [host, pid],
  );
}

/** False: somebody else has, or the worker has registered again. */
export async function markDied(pool: pg.Pool, id: string, seenGoneAt: Date): Promise<boolean> {
  const { rowCount } = await pool.query(
    `UPDATE workers SET died_at = now(), deaths = deaths + 1
     WHERE id = $1 AND seen_gone_at = $2 AND stopped_at IS NULL AND died_at IS NULL`,
    [id, seenGoneAt],
  );
  return rowCount === 1;
}

/** An attempt that a worker holds; a short stage's has no token. */
export type HeldAttempt = RunRef & { token: Buffer | null };

/** What the worker was running, of items that still want it. */
export async function listHeldAttempts(pool: pg.Pool, workerId: string): Promise<HeldAttempt[]> {
  const { rows } = await pool.query<HeldAttempt>(
    `SELECT i.pipeline, i.id AS "itemId", i.epoch, t.token
     FROM tasks t JOIN items i ON i.id = t.item_id AND i.visit = t.visit
     WHERE t.worker = $1 AND t.status = 'running' AND i.ended_at IS NULL`,
    [workerId],
  );
  return rows;
}
