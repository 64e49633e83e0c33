import type pg from 'pg';

export interface WorkerProcess {
  id: string;
  name: string;
  host: string;
  pid: number;
  build: string;
  pipelines: string[];
}

export async function registerWorker(pool: pg.Pool, worker: WorkerProcess): Promise<void> {
  await pool.query(
    `INSERT INTO workers (id, name, host, pid, build, pipelines) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (id) DO UPDATE SET seen_at = now(), stopped_at = NULL`,
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
