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

/** The key of a worker's lock. It is a hash, and all advisory locks share one number space: 64 bits make a collision
 *  unlikely enough. */
const LOCK_KEY = (id: string) => `hashtextextended('worker:' || ${id}::text, 0)`;

/** Takes the worker's lock for as long as the session lives. The lock is shared: if a link breaks on the worker's side
 *  only, the server still holds the old session's lock, and the new session must not wait for it. No other process
 *  takes this lock. */
export async function lockWorker(session: Sql, id: string): Promise<void> {
  await session.query(`SELECT pg_advisory_lock_shared(${LOCK_KEY('$1')})`, [id]);
}

/** Registers the worker, also again after its lock was lost. Registering takes back a verdict that the worker is
 *  dead. */
export async function registerWorker(sql: Sql, worker: WorkerProcess): Promise<void> {
  await sql.query(
    `INSERT INTO workers (id, name, host, pid, build, pipelines, lock_key)
     VALUES ($1, $2, $3, $4, $5, $6, ${LOCK_KEY('$1')})
     ON CONFLICT (id) DO UPDATE SET seen_at = now(), stopped_at = NULL, seen_gone_at = NULL, died_at = NULL`,
    [worker.id, worker.name, worker.host, worker.pid, worker.build, worker.pipelines],
  );
}

/** The sign of life that a worker gives every few seconds. It shows operators which processes are present; it does not
 *  decide whether a worker is dead. */
export async function seeWorker(pool: pg.Pool, id: string): Promise<void> {
  await pool.query('UPDATE workers SET seen_at = now() WHERE id = $1', [id]);
}

export async function retireWorker(pool: pg.Pool, id: string): Promise<void> {
  await pool.query('UPDATE workers SET stopped_at = now(), seen_at = now() WHERE id = $1', [id]);
}

/** The keys of all advisory locks that are held in this database, in the form of `lock_key`. */
export const HELD_LOCKS = `
  SELECT DISTINCT (classid::bigint << 32) | objid::bigint AS key FROM pg_locks
  WHERE locktype = 'advisory' AND objsubid = 1 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/** Reads the registered workers whose lock is held, the workers that this session knew before, and the dead workers
 *  whose burial is unfinished. The statement runs several times a second, so it leaves out the registry's other
 *  rows. */
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

/** Marks the worker as gone, unless it has signed off, is buried, or has given a sign of life since the look. Returns
 *  when it was first marked; null: it lives, or its burial is complete. */
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

/** Reports that the process has ended, by the parent process that saw it end. A watcher then need not wait for its lock
 *  to stay away. It has no effect on a worker that has signed off. */
export async function reportExit(sql: Sql, { host, pid }: Pick<WorkerProcess, 'host' | 'pid'>): Promise<void> {
  await sql.query(
    `UPDATE workers SET seen_gone_at = now()
     WHERE host = $1 AND pid = $2 AND stopped_at IS NULL AND died_at IS NULL AND seen_gone_at IS NULL`,
    [host, pid],
  );
}

/** Marks the worker as dead. False: another watcher has done so, or the worker has registered again. */
export async function markDied(pool: pg.Pool, id: string, seenGoneAt: Date): Promise<boolean> {
  const { rowCount } = await pool.query(
    `UPDATE workers SET died_at = now(), deaths = deaths + 1
     WHERE id = $1 AND seen_gone_at = $2 AND stopped_at IS NULL AND died_at IS NULL`,
    [id, seenGoneAt],
  );
  return rowCount === 1;
}

/** An attempt that a worker holds. An attempt at a short stage has no token. */
export type HeldAttempt = RunRef & { token: Buffer | null };

/** The worker's running attempts, of items that have not ended. */
export async function listHeldAttempts(pool: pg.Pool, workerId: string): Promise<HeldAttempt[]> {
  const { rows } = await pool.query<HeldAttempt>(
    `SELECT i.pipeline, i.id AS "itemId", i.epoch, t.token
     FROM tasks t JOIN items i ON i.id = t.item_id AND i.visit = t.visit
     WHERE t.worker = $1 AND t.status = 'running' AND i.ended_at IS NULL`,
    [workerId],
  );
  return rows;
}
