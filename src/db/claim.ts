import type pg from 'pg';
import { claimedState, findRow, rowOf, stagesIn, triggerOf } from '../core/machine.js';
import type { Pipeline } from '../core/pipeline.js';
import { ADMISSION_RETRY_MS, type Step } from '../core/step.js';
import type { Sql } from '../ports/sql.js';
import { mayEnter } from './admission.js';
import { type Attempt, type Claimed, taskKey } from './attempt.js';
import { passBreakers } from './breaker-pass.js';
import { inTransaction, prepared } from './client.js';
import { endUnended, type Found, mayRunSuspect, SUSPECT_CRASHES, SUSPECT_RETRY_MS, type TaskRow } from './crash.js';
import { IS_LIVE, type ItemRow, lockItem, markSeen, msUntil } from './item-row.js';
import { stepOf } from './next-step.js';
import { markCrashMoving, markRescueMoving, movingStatement } from './receipts.js';
import { recordTransition, WORKER } from './transition.js';

export type Claim =
  | { answer: 'run'; claimed: Claimed }
  /** The work is done already, or the row is elsewhere: this is the step to follow. */
  | { answer: 'done'; step: Step }
  | { answer: 'hold'; forMs: number; reason: HoldReason }
  | { answer: 'superseded' };

export type HoldReason = 'paused' | 'breaker_open' | 'suspect_wait' | 'backlog' | 'outdated';

/** An outdated attempt is not waited for; should Temporal's clock have been set back, the next one tries after this long. */
const OUTDATED_RETRY_MS = 1_000;

interface Granted {
  fence: number;
  attempt: number;
  errors: number;
  checkpoint: unknown;
  owner: string;
}

/** Takes the task for this attempt. The item row is locked before the task, as everywhere, so that a cancel or a rescue
 *  can't slip in between the check and the write. Raising the fence is what makes every earlier attempt a zombie. */
export async function claimTask(pool: pg.Pool, pipeline: Pipeline, attempt: Attempt): Promise<Claim> {
  const earlier = stagesBefore(pipeline, attempt);
  const taken = earlier && (await claimAtOnce(pool, pipeline, attempt, earlier));
  if (taken) return { answer: 'run', claimed: { ...attempt, ...taken } };
  return inTransaction(pool, (transaction) => claimCarefully(transaction, pipeline, attempt, earlier));
}

/** The stages of the state that come before this one. Null: the table has no such stage there (any more). */
function stagesBefore(pipeline: Pipeline, { state, stage }: Attempt): Earlier | null {
  const row = findRow(pipeline, state);
  const stages = row ? stagesIn(row) : [];
  const at = stages.findIndex((each) => each.stage === stage);
  if (at === -1) return null;
  const before = stages.slice(0, at);
  return {
    single: before.filter((each) => !each.fanOut).map((each) => each.stage),
    spread: before.filter((each) => each.fanOut).map((each) => each.stage),
  };
}

interface Earlier {
  single: string[];
  spread: string[];
}

async function claimAtOnce(
  pool: pg.Pool,
  pipeline: Pipeline,
  attempt: Attempt,
  { single, spread }: Earlier,
): Promise<Granted | undefined> {
  const { state, epoch, claimId, token, worker, scheduledAt } = attempt;
  const values = [...taskKey(attempt), state, epoch, pipeline.name, claimId, token, worker, scheduledAt];
  const isFirst = single.length + spread.length === 0;
  const kind = kindOf(attempt);
  const [taken] = isFirst
    ? await prepared<Granted>(pool, CLAIM[kind].first, values)
    : await prepared<Granted>(pool, CLAIM[kind].later, [...values, single, spread]);
  return taken;
}

function kindOf({ unit, epoch }: Attempt): keyof typeof CLAIM {
  if (unit !== '') return epoch > 1 ? 'rescuedUnit' : 'unit';
  return epoch > 1 ? 'rescuedStage' : 'stage';
}

/** Whether every stage before has ended. Asked because the table may have changed since the run was told its step: a stage
 *  that was put in front must not be left out. */
function isTurn(single: string, spread: string): string {
  return `
    (SELECT count(*) FROM tasks WHERE item_id = $1 AND visit = $2 AND stage = ANY (${single}::text[]) AND unit = ''
       AND status = ANY (ARRAY['done', 'failed'])) = cardinality(${single}::text[])
    AND NOT EXISTS (SELECT 1 FROM tasks WHERE item_id = $1 AND visit = $2 AND stage = ANY (${spread}::text[]) AND unit <> ''
       AND status = ANY (ARRAY['waiting', 'running']))`;
}

/** The common case in one statement: the row is where the run believes, nothing holds it, the task is free and has not
 *  brought down a worker. Units lock the item for sharing and never write it, or parallel ones would deadlock. */
function claimStatement(lock: string, mark: string, turn = 'true'): string {
  return `
    WITH item AS (
      SELECT id, owner, started, wake_after FROM items
      WHERE id = $1 AND visit = $2 AND state = $5 AND epoch = $6 AND ${IS_LIVE}
        AND (paused_until IS NULL OR paused_until <= now())
        AND NOT EXISTS (SELECT 1 FROM holds WHERE pipeline = $7 AND until > now())
        AND ${turn}
      ${lock}
    ), task AS (
      INSERT INTO tasks AS t (item_id, visit, stage, unit, status, fence, attempt, claim_id, token, worker,
        scheduled_at, started_at, beat_at)
      SELECT id, $2::int, $3::text, $4::text, 'running', 1, 1, $8::uuid, $9::bytea, $10::text, $11::timestamptz, now(), now()
      FROM item
      ON CONFLICT (item_id, visit, stage, unit) DO UPDATE SET
        status = 'running', fence = t.fence + 1, attempt = t.attempt + 1, claim_id = excluded.claim_id, token = excluded.token,
        worker = excluded.worker, scheduled_at = excluded.scheduled_at, started_at = now(), beat_at = now(), progress = NULL, progress_at = NULL, retry_at = NULL
      WHERE t.status = 'waiting' AND t.crashes = 0
        AND (excluded.scheduled_at < t.scheduled_at) IS NOT TRUE
      RETURNING t.fence, t.attempt, t.errors, t.checkpoint
    )${mark}
    SELECT task.fence, task.attempt, task.errors, task.checkpoint, item.owner FROM task, item`;
}

const MARK = `, mark AS (
      UPDATE items SET started = true, wake_after = NULL, wake_tries = 0, beat_at = now() FROM item, task
      WHERE items.id = item.id AND (NOT item.started OR item.wake_after IS NOT NULL)
    )`;
/** The first claim that is granted to a rescued item completes its receipt. First runs, which have none, are spared the look. */
const MOVING = `, moving AS (
      ${movingStatement('(SELECT item.id FROM item, task)', '$6')}
    )`;
const LATER = isTurn('$12', '$13');
const CLAIM = {
  stage: claimStatements('FOR NO KEY UPDATE', MARK),
  rescuedStage: claimStatements('FOR NO KEY UPDATE', MARK + MOVING),
  unit: claimStatements('FOR SHARE', ''),
  rescuedUnit: claimStatements('FOR SHARE', MOVING),
} as const;

function claimStatements(lock: string, mark: string): { first: string; later: string } {
  return { first: claimStatement(lock, mark), later: claimStatement(lock, mark, LATER) };
}

async function claimCarefully(
  transaction: Sql,
  pipeline: Pipeline,
  attempt: Attempt,
  earlier: Earlier | null,
): Promise<Claim> {
  const item = await lockItem(transaction, attempt.itemId);
  if (!item || item.epoch !== attempt.epoch || item.endedAt) return { answer: 'superseded' };
  const isHere = earlier && isAt(pipeline, item, attempt) && (await isItsTurn(transaction, attempt, earlier));
  if (!isHere) return { answer: 'done', step: await stepOf(transaction, pipeline, item) };
  await markSeen(transaction, item.id);
  const before = await lockTask(transaction, attempt);
  // Asked again because the answer was lost: it holds the task already, whatever has happened since.
  if (before.status === 'running' && before.claimId === attempt.claimId) return granted(attempt, item, before);
  if (isOutdated(attempt, before)) return { answer: 'hold', forMs: OUTDATED_RETRY_MS, reason: 'outdated' };
  const held = (await pauseOf(transaction, item)) ?? (await leaveRest(transaction, pipeline, item, attempt));
  return held ?? claimLocked(transaction, pipeline, { item: { ...item, state: attempt.state }, attempt, before });
}

/** A worker that was frozen wakes with attempts that Temporal handed to it and has given to others since. To take the task
 *  from them would be wrong, and to count them as crashed would make the item a suspect. */
function isOutdated(attempt: Attempt, before: TaskRow): boolean {
  return attempt.scheduledAt !== null && before.scheduledAt !== null && attempt.scheduledAt < before.scheduledAt;
}

function granted(attempt: Attempt, { owner }: ItemRow, task: Omit<Granted, 'owner'>): Claim {
  const { fence, attempt: count, errors, checkpoint } = task;
  return { answer: 'run', claimed: { ...attempt, fence, attempt: count, errors, checkpoint, owner } };
}

/** In the state of the attempt, or in the rest that this claim leaves. */
function isAt(pipeline: Pipeline, item: ItemRow, attempt: Attempt): boolean {
  if (item.visit !== attempt.visit) return false;
  return item.state === attempt.state || claimedState(rowOf(pipeline, item.state)) === attempt.state;
}

async function isItsTurn(transaction: Sql, attempt: Attempt, { single, spread }: Earlier): Promise<boolean> {
  if (single.length + spread.length === 0) return true;
  const { rows } = await transaction.query<{ turn: boolean }>(`SELECT ${isTurn('$3', '$4')} AS turn`, [
    attempt.itemId,
    attempt.visit,
    single,
    spread,
  ]);
  return rows[0]?.turn ?? false;
}

/** The first claim is what moves an item out of a state that rests. */
async function leaveRest(transaction: Sql, pipeline: Pipeline, item: ItemRow, attempt: Attempt): Promise<Claim | null> {
  if (item.state === attempt.state) return null;
  if (!(await mayEnter(transaction, pipeline, attempt.state))) {
    return { answer: 'hold', forMs: ADMISSION_RETRY_MS, reason: 'backlog' };
  }
  const expected = { itemId: item.id, state: item.state, visit: item.visit, epoch: item.epoch };
  await recordTransition(transaction, pipeline, expected, {
    from: item.state,
    to: attempt.state,
    via: 'outcome',
    trigger: triggerOf(rowOf(pipeline, item.state), attempt.stage, 'claimed'),
    actor: WORKER,
  });
  return null;
}

async function pauseOf(transaction: Sql, item: ItemRow): Promise<Claim | null> {
  if (item.pausedForMs !== null) return { answer: 'hold', forMs: item.pausedForMs, reason: 'paused' };
  const { rows } = await transaction.query<{ forMs: number }>(
    `SELECT ${msUntil('until')} AS "forMs" FROM holds WHERE pipeline = $1 AND kind = 'pause' AND until > now()`,
    [item.pipeline],
  );
  const [pause] = rows;
  return pause ? { answer: 'hold', forMs: pause.forMs, reason: 'paused' } : null;
}

async function claimLocked(transaction: Sql, pipeline: Pipeline, found: Found): Promise<Claim> {
  const { item, attempt, before } = found;
  if (before.status === 'done' || before.status === 'failed') {
    return { answer: 'done', step: await stepOf(transaction, pipeline, item) };
  }
  const task = before.status === 'running' ? await endUnended(transaction, pipeline, found) : before;
  if (task === 'poison') return { answer: 'superseded' };
  const suspect = task.crashes >= SUSPECT_CRASHES;
  if (suspect && !(await mayRunSuspect(transaction, attempt))) {
    return { answer: 'hold', forMs: SUSPECT_RETRY_MS, reason: 'suspect_wait' };
  }
  // Last of all, so that a place is taken only by who runs.
  const passage = await passBreakers(transaction, pipeline, attempt);
  if (passage.is === 'hold') return { answer: 'hold', forMs: passage.forMs, reason: 'breaker_open' };
  const { rows } = await transaction.query<Omit<Granted, 'owner'>>(
    `UPDATE tasks SET status = 'running', fence = fence + 1, attempt = attempt + 1, claim_id = $5, token = $6, worker = $7,
       suspect = $8, scheduled_at = $9, started_at = now(), beat_at = now(), progress = NULL, progress_at = NULL, retry_at = NULL
     WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4
     RETURNING fence, attempt, errors, checkpoint`,
    [...taskKey(attempt), attempt.claimId, attempt.token, attempt.worker, suspect, attempt.scheduledAt],
  );
  const [taken] = rows;
  if (!taken) throw new Error(`task of item ${item.id} vanished while it was locked`);
  if (task.crashes > 0) await markCrashMoving(transaction, attempt);
  if (item.epoch > 1) await markRescueMoving(transaction, item);
  return granted({ ...attempt, ...(passage.passes.length > 0 && { passes: passage.passes }) }, item, taken);
}

async function lockTask(transaction: Sql, attempt: Attempt): Promise<TaskRow> {
  await transaction.query(
    `INSERT INTO tasks (item_id, visit, stage, unit) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
    taskKey(attempt),
  );
  const { rows } = await transaction.query<TaskRow>(
    `SELECT status, fence, attempt, errors, crashes, suspect, sole_crashes AS "soleCrashes", checkpoint, worker,
       claim_id AS "claimId", scheduled_at AS "scheduledAt", started_at AS "startedAt"
     FROM tasks WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4 FOR UPDATE`,
    taskKey(attempt),
  );
  const [task] = rows;
  if (!task) throw new Error(`task of item ${attempt.itemId} vanished while it was locked`);
  return task;
}
