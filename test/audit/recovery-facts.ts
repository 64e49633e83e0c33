import type pg from 'pg';
import { asOfOneMoment } from './snapshot.js';

/** What the database says of one owner's recoveries, read by statements of the auditor's own. */
export interface RecoveryFacts {
  /** Of items that have ended. */
  tasks: TaskFact[];
  attempts: AttemptFact[];
  receipts: ReceiptFact[];
  /** Lines of the audit trail that recovery wrote. */
  acts: ActFact[];
}

interface OfTask {
  itemId: string;
  visit: number;
  stage: string;
  unit: string;
}

export interface TaskFact extends OfTask {
  status: string;
  attempt: number;
  errors: number;
  crashes: number;
}

export interface AttemptFact extends OfTask {
  attempt: number;
  worker: string;
  startedAt: Date;
  endedAt: Date;
  result: string;
  errorClass: string | null;
}

export interface ReceiptFact {
  itemId: string;
  visit: number;
  epoch: number;
  /** Null: of the whole item. */
  stage: string | null;
  unit: string;
  reason: string;
  result: string;
  lastSignAt: Date;
  seenAt: Date;
  actedAt: Date;
  movingAt: Date | null;
}

export interface ActFact {
  itemId: string;
  trigger: string;
  epoch: number;
  at: Date;
}

/** What recovery calls its moves. */
const ACTS = ['rescue', 'stuck-exhausted', 'poison', 'parked'] as const;

export async function readRecovery(pool: pg.Pool, owner: string): Promise<RecoveryFacts> {
  return asOfOneMoment(pool, (sql) => readAll(sql, owner));
}

async function readAll(sql: pg.ClientBase, owner: string): Promise<RecoveryFacts> {
  const tasks = await sql.query<TaskFact>(
    `SELECT t.item_id AS "itemId", t.visit, t.stage, t.unit, t.status, t.attempt, t.errors, t.crashes
     FROM tasks t JOIN items i ON i.id = t.item_id WHERE i.owner = $1 AND i.ended_at IS NOT NULL`,
    [owner],
  );
  const attempts = await sql.query<AttemptFact>(
    `SELECT a.item_id AS "itemId", a.visit, a.stage, a.unit, a.attempt, a.worker, a.started_at AS "startedAt",
       a.ended_at AS "endedAt", a.result, a.error_class AS "errorClass"
     FROM attempts a JOIN items i ON i.id = a.item_id WHERE i.owner = $1 ORDER BY a.id`,
    [owner],
  );
  const receipts = await sql.query<ReceiptFact>(
    `SELECT item_id AS "itemId", visit, epoch, stage, unit, reason, result, last_sign_at AS "lastSignAt", seen_at AS "seenAt",
       acted_at AS "actedAt", moving_at AS "movingAt" FROM receipts ORDER BY id`,
  );
  const acts = await sql.query<ActFact>(
    `SELECT a.item_id AS "itemId", a.trigger, a.epoch, a.at FROM audit a JOIN items i ON i.id = a.item_id
     WHERE i.owner = $1 AND a.trigger = ANY ($2) ORDER BY a.id`,
    [owner, ACTS],
  );
  return { tasks: tasks.rows, attempts: attempts.rows, receipts: receipts.rows, acts: acts.rows };
}
