import { beatsMsOf } from '../core/diagnosis.js';
import { exhaustedState, findStage } from '../core/machine.js';
import type { Pipeline } from '../core/pipeline.js';
import { isAliveWithoutEngine, type LastSign } from '../core/presence.js';
import type { Sql } from '../ports/sql.js';
import { type Attempt, taskKey } from './attempt.js';
import { raiseExhausted } from './exhausted-event.js';
import type { ItemRow } from './item-row.js';
import { recordTransition, SYSTEM } from './transition.js';
import { HELD_LOCKS } from './workers.js';

/** Running at two worker deaths makes a task a suspect: one may be chance, and its neighbours died with it. */
export const SUSPECT_CRASHES = 2;

/** A suspect asks this often for its turn. Twenty that died beside a poison item take turns: longer, and workers would mostly stand
 *  idle between the last of them; shorter, and asking would keep a core busy. */
export const SUSPECT_RETRY_MS = 2_000;

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

/** The previous attempt never ended. What became of it is asked before anything is held against it. */
export async function endUnended(transaction: Sql, pipeline: Pipeline, found: Found): Promise<TaskRow | 'poison'> {
  const { state, stage } = found.attempt;
  // A short stage beats no row: nothing tells a frozen one from one that lives.
  const sign = findStage(pipeline, stage)?.row.short ? undefined : await lastSignOf(transaction, found.attempt);
  return sign && isAliveWithoutEngine(sign, beatsMsOf(pipeline, state, stage))
    ? takeOver(transaction, pipeline, found)
    : countCrash(transaction, pipeline, found);
}

/** Of the attempt that holds the task: when its row was beaten, and whether its process holds its lock. */
async function lastSignOf(transaction: Sql, attempt: Attempt): Promise<LastSign | undefined> {
  const { rows } = await transaction.query<LastSign>(
    `SELECT extract(epoch FROM now() - t.beat_at)::float8 * 1000 AS "silentMs",
       extract(epoch FROM now() - t.started_at)::float8 * 1000 AS "ranMs",
       w.seen_gone_at IS NULL AND w.died_at IS NULL AND w.lock_key IN (${HELD_LOCKS}) AS "isHeld"
     FROM tasks t JOIN workers w ON w.id = t.worker
     WHERE t.item_id = $1 AND t.visit = $2 AND t.stage = $3 AND t.unit = $4`,
    taskKey(attempt),
  );
  return rows[0];
}

/** From a worker that lives: the fence goes up, and it finds out at its next beat. */
async function takeOver(transaction: Sql, pipeline: Pipeline, { attempt, before }: Found): Promise<TaskRow> {
  await transaction.query(
    `WITH task AS (
       UPDATE tasks SET status = 'waiting', fence = fence + 1, suspect = false, token = NULL
       WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4 RETURNING *
     )
     INSERT INTO attempts (item_id, pipeline, visit, stage, unit, attempt, fence, worker, started_at, result)
     SELECT item_id, $5, visit, stage, unit, attempt, $6::int, worker, started_at, 'shutdown' FROM task`,
    [...taskKey(attempt), pipeline.name, before.fence],
  );
  return { ...before, status: 'waiting', suspect: false };
}

/** Its worker died, froze or was cut off. The task is free again, one crash older; a task
 *  that brought down its third worker as the only suspect ends the item instead. The fence goes up here already: should
 *  the task have to wait now, the attempt before must not find its own number on a task that no longer runs. */
async function countCrash(
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

/** What the watcher knew of the worker's death is when it was seen; of one that fell silent, this claim is the first to know. The
 *  death may have been seen while this transaction waited for a lock: then its own time, which is when it began, is the earlier one.
 *  It may have to wait still, as a suspect or for a breaker: the claim that is granted completes the receipt. */
const RECEIPT = `
       INSERT INTO receipts (item_id, pipeline, state, visit, epoch, stage, unit, reason, sentence, last_sign_at, seen_at, acted_at,
         stages_again, actor, actor_type, result)
       SELECT t.item_id, $9, $10::text, t.visit, $11::int, t.stage, t.unit,
         CASE WHEN COALESCE(w.seen_gone_at, w.died_at) IS NULL THEN 'silent_worker' ELSE 'worker_died' END, $7,
         COALESCE(t.beat_at, t.started_at, now()), least(COALESCE(w.seen_gone_at, w.died_at), now()), now(),
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
    to: exhaustedState(pipeline, item.state, null),
    via: 'exhaustion',
    trigger: 'poison',
    actor: SYSTEM,
    reason: 'POISON',
    metadata: { stage: attempt.stage, unit: attempt.unit, crashes },
    error: { class: 'UNKNOWN', message, stage: attempt.stage },
  });
  await raiseExhausted(transaction, item, { reason: 'POISON', sentence: `${message}.` });
  await transaction.query(CLEAR_NEIGHBOURS, taskKey(attempt));
}

/** Who died beside it need not be suspected any longer: those deaths are explained, and only they are forgiven. A death that its
 *  neighbour's next claim has yet to count makes no suspect by itself. Rows that somebody writes at this moment are passed over,
 *  for we hold another item's locks; such a one takes its turn as before. A death that two such items shared with it is forgiven
 *  twice: never below none. */
const CLEAR_NEIGHBOURS = `
  WITH mine AS (
    SELECT worker, started_at, ended_at FROM attempts
    WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4 AND result = 'crash'
  ), shared AS (
    SELECT a.item_id, a.visit, a.stage, a.unit, count(DISTINCT a.id) AS deaths
    FROM attempts a JOIN mine m ON m.worker = a.worker AND a.started_at <= m.ended_at AND a.ended_at >= m.started_at
    WHERE a.result = 'crash' AND a.ended_at >= (SELECT min(started_at) FROM mine) AND a.item_id <> $1
    GROUP BY a.item_id, a.visit, a.stage, a.unit
  ), neighbour AS (
    SELECT t.item_id, t.visit, t.stage, t.unit, greatest(0, t.crashes - s.deaths) AS unexplained
    FROM tasks t JOIN shared s USING (item_id, visit, stage, unit) JOIN items i ON i.id = t.item_id AND i.ended_at IS NULL
    WHERE t.status IN ('waiting', 'running') FOR UPDATE OF t SKIP LOCKED
  )
  UPDATE tasks t SET crashes = n.unexplained, sole_crashes = least(t.sole_crashes, n.unexplained),
    suspect = t.suspect AND n.unexplained >= ${String(SUSPECT_CRASHES)}
  FROM neighbour n WHERE (t.item_id, t.visit, t.stage, t.unit) = (n.item_id, n.visit, n.stage, n.unit)`;

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
