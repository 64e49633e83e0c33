import { exhaustedState } from '../core/machine.js';
import type { Pipeline } from '../core/pipeline.js';
import type { Sql } from '../ports/sql.js';
import { type Attempt, taskKey } from './attempt.js';
import { raiseExhausted } from './exhausted-event.js';
import type { ItemRow } from './item-row.js';
import { recordTransition, SYSTEM } from './transition.js';

/** Running at two worker deaths makes a task a suspect: one may be chance, and its neighbours died with it. */
export const SUSPECT_CRASHES = 2;

/** A suspect waits this long for its turn; the attempt it waits for ends, or takes the worker with it. */
export const SUSPECT_RETRY_MS = 5_000;

/** Three workers killed by one task as their only suspect leave no other explanation. */
const POISON_CRASHES = 3;

export interface TaskRow {
  status: 'waiting' | 'running' | 'done' | 'failed';
  fence: number;
  attempt: number;
  errors: number;
  crashes: number;
  suspect: boolean;
  soleCrashes: number;
  checkpoint: unknown;
  worker: string | null;
  claimId: string | null;
  scheduledAt: Date | null;
  startedAt: Date | null;
}

/** What a claim has locked: the item, and the task as the attempt before left it. */
export interface Found {
  item: ItemRow;
  attempt: Attempt;
  before: TaskRow;
}

/** The previous attempt never ended: its worker died, froze or was cut off. The task is free again, one crash older; a task
 *  that brought down its third worker as the only suspect ends the item instead. The fence goes up here already: should
 *  the task have to wait now, the attempt before must not find its own number on a task that no longer runs. */
export async function countCrash(
  transaction: Sql,
  pipeline: Pipeline,
  { item, attempt, before }: Found,
): Promise<TaskRow | 'poison'> {
  const soleCrashes = before.soleCrashes + (before.suspect ? 1 : 0);
  const crashes = before.crashes + 1;
  const message = `worker ${before.worker ?? 'unknown'} died or fell silent while it ran ${attempt.stage}`;
  await transaction.query(
    `WITH task AS (
       UPDATE tasks SET status = 'waiting', fence = fence + 1, crashes = $5, sole_crashes = $6, suspect = false, token = NULL
       WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4 RETURNING *
     ), receipt AS (${RECEIPT})
     INSERT INTO attempts (item_id, pipeline, visit, stage, unit, attempt, fence, worker, started_at, result, error_class, error_message)
     SELECT item_id, $9, visit, stage, unit, attempt, $8::int, worker, started_at, 'crash', 'SCAN_TIMEOUT', $7 FROM task`,
    [
      ...[...taskKey(attempt), crashes, soleCrashes, message, before.fence, pipeline.name],
      ...[item.state, item.epoch, soleCrashes < POISON_CRASHES ? 'waiting' : 'poison'],
    ],
  );
  if (soleCrashes < POISON_CRASHES) return { ...before, status: 'waiting', crashes, soleCrashes, suspect: false };

  await endPoisoned(transaction, pipeline, { item, attempt, before }, crashes);
  return 'poison';
}

/** What the watcher knew of the worker's death is when it was seen; of one that fell silent, this claim is the first to know.
 *  It may have to wait still, as a suspect or for a breaker: the claim that is granted completes the receipt. */
const RECEIPT = `
       INSERT INTO receipts (item_id, pipeline, state, visit, epoch, stage, unit, reason, sentence, last_sign_at, seen_at, acted_at,
         stages_again, actor, actor_type, result)
       SELECT t.item_id, $9, $10::text, t.visit, $11::int, t.stage, t.unit,
         CASE WHEN COALESCE(w.seen_gone_at, w.died_at) IS NULL THEN 'silent_worker' ELSE 'worker_died' END, $7,
         COALESCE(t.beat_at, t.started_at, now()), COALESCE(w.seen_gone_at, w.died_at, now()), now(),
         ARRAY[t.stage], 'system', 'system', $12::text
       FROM task t LEFT JOIN workers w ON w.id = t.worker`;

async function endPoisoned(
  transaction: Sql,
  pipeline: Pipeline,
  { item, attempt }: Found,
  crashes: number,
): Promise<void> {
  const message = `${attempt.stage} brought down ${String(POISON_CRASHES)} workers as their only suspect`;
  const expected = { itemId: item.id, state: item.state, visit: item.visit, epoch: item.epoch };
  await recordTransition(transaction, pipeline, expected, {
    from: item.state,
    to: exhaustedState(pipeline, item.errorClass),
    via: 'exhaustion',
    trigger: 'poison',
    actor: SYSTEM,
    reason: 'POISON',
    metadata: { stage: attempt.stage, unit: attempt.unit, crashes },
    error: { class: 'UNKNOWN', message, stage: attempt.stage },
  });
  await raiseExhausted(transaction, item, { reason: 'POISON', sentence: `${message}.` });
}

/** Whether this worker runs no other suspect. The lock keeps two suspects from being let in at once. */
export async function mayRunSuspect(transaction: Sql, attempt: Attempt): Promise<boolean> {
  await transaction.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`suspects:${attempt.worker}`]);
  const { rows } = await transaction.query(
    `SELECT 1 FROM tasks WHERE worker = $5 AND status = 'running' AND suspect
       AND (item_id, visit, stage, unit) <> ($1::uuid, $2::int, $3::text, $4::text) LIMIT 1`,
    [...taskKey(attempt), attempt.worker],
  );
  return rows.length === 0;
}
