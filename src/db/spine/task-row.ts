import type { Sql } from '../../ports/sql.js';
import { type Attempt, taskKey } from './attempt.js';
import type { ItemRow } from './item-row.js';

/** The columns of `tasks` that a claim is decided on. */
export interface TaskRow {
  status: 'waiting' | 'running' | 'done' | 'failed';
  fence: number;
  attempt: number;
  errors: number;
  crashes: number;
  isolated: boolean;
  ownDeaths: number;
  asksForPlace: boolean;
  /** A receipt of the task is open, or may have to be written. The next claim sees to both. */
  recovering: boolean;
  checkpoint: unknown;
  worker: string | null;
  claimId: string | null;
  /** The attempt that holds the task is a local activity, which has no token and beats no row. */
  isLocal: boolean;
  scheduledAt: Date | null;
  startedAt: Date | null;
}

/** The rows that a claim has locked: the item, and the task as the attempt before left it. */
export interface Found {
  item: ItemRow;
  attempt: Attempt;
  before: TaskRow;
}

/** The columns that a save may draw from: those of the task that it belongs to. */
export const GUARD = 't.item_id, t.visit, t.stage, t.unit, t.attempt, t.fence, t.worker, t.started_at';

/** Matches no partial index, for the reason of IS_LIVE. */
export const IS_RUNNING = `t.status || '' = 'running'`;

/** Locks the task, after its item. The first claim of a task makes its row. */
export async function lockTask(transaction: Sql, attempt: Attempt): Promise<TaskRow> {
  await transaction.query(
    `INSERT INTO tasks (item_id, visit, stage, unit) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
    taskKey(attempt),
  );
  const { rows } = await transaction.query<TaskRow>(
    `SELECT status, fence, attempt, errors, crashes, isolated, own_deaths AS "ownDeaths", place_asked_at IS NOT NULL AS "asksForPlace", recovering, checkpoint, worker,
       claim_id AS "claimId", token IS NULL AS "isLocal", scheduled_at AS "scheduledAt", started_at AS "startedAt"
     FROM tasks WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4 FOR UPDATE`,
    taskKey(attempt),
  );
  const [task] = rows;
  if (!task) throw new Error(`task of item ${attempt.itemId} vanished while it was locked`);
  return task;
}
