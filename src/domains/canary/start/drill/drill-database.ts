import type pg from 'pg';
import { goneTimeOf } from '../../../../db/recovery/gone-worker.js';
import type { AttemptSeen, ItemSeen } from './verdict.js';

export interface WorkerSeen {
  id: string;
  name: string;
  host: string;
  pid: number;
  /** Time since the worker last wrote to the registry, which it does every five seconds. */
  silentForMs: number;
}

/** The facts that an item's rows hold. Its effects come from the API. */
export type RowsSeen = Omit<ItemSeen, 'effects'>;

/** The facts that only the database has: which process runs which attempt, and since when. All times come from the
 *  database's clock. */
export interface DrillDatabase {
  now(): Promise<number>;
  /** Workers that serve canaries, have not stopped and were not seen to die. */
  listWorkers(): Promise<WorkerSeen[]>;
  listItems(ids: readonly string[]): Promise<RowsSeen[]>;
  /** How long the session that waits longest for a lock has waited; 0 if no session waits. */
  lockWaitMs(): Promise<number>;
  /** When the watcher saw that the worker's lock was gone. Null: it did not see that. */
  goneSeenAt(workerId: string): Promise<number | null>;
}

export function createDrillDatabase(pool: pg.Pool): DrillDatabase {
  return {
    async now() {
      const { rows } = await pool.query<{ now: number }>(`SELECT ${ms('clock_timestamp()')} AS now`);
      return rows[0]?.now ?? Number.NaN;
    },
    async listWorkers() {
      const { rows } = await pool.query<WorkerSeen>(WORKERS);
      return rows;
    },
    async listItems(ids) {
      const { rows } = await pool.query<RowsSeen>(ITEMS, [ids]);
      return rows;
    },
    async lockWaitMs() {
      const { rows } = await pool.query<{ waited: number }>(LOCK_WAIT);
      return rows[0]?.waited ?? 0;
    },
    async goneSeenAt(workerId) {
      const sql = `SELECT ${ms('seen_gone_at')} AS "goneSeenAt" FROM workers WHERE id = $1`;
      const { rows } = await pool.query<{ goneSeenAt: number | null }>(sql, [workerId]);
      return rows[0]?.goneSeenAt ?? null;
    },
  };
}

function ms(time: string): string {
  return `(extract(epoch FROM ${time}) * 1000)::float8`;
}

const WORKERS = `
  SELECT id, name, host, pid, ${ms('now() - seen_at')} AS "silentForMs" FROM workers
  WHERE ${goneTimeOf('workers')} IS NULL AND 'canary' = ANY (pipelines) ORDER BY started_at DESC`;

const ATTEMPT: Record<keyof AttemptSeen, string> = {
  visit: 'visit',
  stage: 'stage',
  unit: 'unit',
  attempt: 'attempt',
  worker: 'worker',
  startedAt: ms('started_at'),
  endedAt: ms('ended_at'),
  result: 'result',
};

/** One statement, so that an attempt is never missed on its way from running to ended. */
const ITEMS = `
  SELECT i.id, i.state, ${ms('i.ended_at')} AS "endedAt",
    (SELECT coalesce(json_agg(${jsonOf(ATTEMPT)} ORDER BY started_at), '[]') FROM (
       SELECT visit, stage, unit, attempt, worker, started_at, ended_at, result FROM attempts WHERE item_id = i.id
       UNION ALL
       SELECT visit, stage, unit, attempt, worker, started_at, NULL, 'running' FROM tasks
       WHERE item_id = i.id AND status = 'running'
     ) AS tries) AS attempts,
    (SELECT coalesce(json_agg(worker), '[]') FROM refusals WHERE item_id = i.id) AS "refusedTo"
  FROM items i WHERE i.id = ANY ($1::uuid[]) ORDER BY i.id`;

function jsonOf(fields: Record<string, string>): string {
  return `json_build_object(${Object.entries(fields)
    .flatMap(([name, value]) => [`'${name}'`, value])
    .join(', ')})`;
}

const LOCK_WAIT = `
  SELECT coalesce(max(${ms('clock_timestamp() - waitstart')}), 0)::float8 AS waited
  FROM pg_locks JOIN pg_stat_activity USING (pid)
  WHERE NOT granted AND datname = current_database()`;
