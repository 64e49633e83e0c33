import type pg from 'pg';
import { claimedState, rowOf, triggerOf } from '../../../core/machine.js';
import type { Pipeline } from '../../../core/pipeline.js';
import { ADMISSION_RETRY_MS, type Step } from '../../../core/step.js';
import type { Sql } from '../../../ports/sql.js';
import { mayEnter } from '../admission.js';
import { type Attempt, type Claimed, taskKey } from '../attempt.js';
import { passBreakers } from './breaker-pass.js';
import { claimAtOnce, type Granted } from './claim-at-once.js';
import { inTransaction } from '../../postgres/client.js';
import { endUnended } from './crash.js';
import { type ItemRow, lockItem, markSeen, msUntil } from '../item-row.js';
import { stepOf } from '../next-step.js';
import { markRescueMoving, markTaskMoving } from '../../recovery/receipts.js';
import { mayRunSuspect, SUSPECT_CRASHES, SUSPECT_RETRY_MS } from './suspects.js';
import { recordGivenBack } from './take-over.js';
import { type Found, lockTask, type TaskRow } from '../task-row.js';
import { recordTransition, WORKER } from '../transition.js';
import { type Earlier, isItsTurn, stagesBefore } from './turn.js';

export type Claim =
  | { answer: 'run'; claimed: Claimed }
  /** The work is done already, or the row is elsewhere: this is the step to follow. */
  | { answer: 'done'; step: Step }
  | { answer: 'hold'; forMs: number; reason: HoldReason }
  | { answer: 'superseded' };

export type HoldReason = 'paused' | 'breaker_open' | 'suspect_wait' | 'backlog' | 'outdated';

/** An outdated attempt is not waited for; should Temporal's clock have been set back, the next one tries after this long. */
const OUTDATED_RETRY_MS = 1_000;

/** Takes the task for this attempt. The item row is locked before the task, as everywhere, so that a cancel or a rescue
 *  can't slip in between the check and the write. Raising the fence is what makes every earlier attempt a zombie. */
export async function claimTask(pool: pg.Pool, pipeline: Pipeline, attempt: Attempt): Promise<Claim> {
  const earlier = stagesBefore(pipeline, attempt);
  const taken = earlier && (await claimAtOnce(pool, pipeline, attempt, earlier));
  if (taken) return granted(attempt, taken, taken);
  return inTransaction(pool, (transaction) => claimCarefully(transaction, pipeline, attempt, earlier));
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
  const found = await lockTask(transaction, attempt);
  // Asked again because the answer was lost: it holds the task already, whatever has happened since.
  if (isHeldBy(attempt, found) && isSameTry(attempt, found)) return granted(attempt, item, found);
  const before = isHeldBy(attempt, found) ? await freeUnbegun(transaction, attempt, found) : found;
  if (isOutdated(attempt, before)) return { answer: 'hold', forMs: OUTDATED_RETRY_MS, reason: 'outdated' };
  const held = (await pauseOf(transaction, item)) ?? (await leaveRest(transaction, pipeline, item, attempt));
  return held ?? claimLocked(transaction, pipeline, { item: { ...item, state: attempt.state }, attempt, before });
}

function isHeldBy({ claimId }: Attempt, task: TaskRow): boolean {
  return task.status === 'running' && task.claimId === claimId;
}

function isSameTry(attempt: Attempt, task: TaskRow): boolean {
  return attempt.scheduledAt?.getTime() === task.scheduledAt?.getTime();
}

/** The attempt before was granted the task, was never told so and has gone: this one, which asks under its id, claims as if it had
 *  not been. */
async function freeUnbegun(transaction: Sql, attempt: Attempt, found: TaskRow): Promise<TaskRow> {
  await transaction.query(
    `UPDATE tasks SET status = 'waiting', fence = fence + 1, attempt = attempt - 1, claim_id = NULL, token = NULL, suspect = false
     WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4`,
    taskKey(attempt),
  );
  return { ...found, status: 'waiting', claimId: null, suspect: false };
}

/** A worker that was frozen wakes with attempts that Temporal handed to it and has given to others since. To take the task
 *  from them would be wrong, and to count them as crashed would make the item a suspect. Nor is a task for the claim that it
 *  has ended under: that one was asked for twice, and comes late. */
function isOutdated(attempt: Attempt, before: TaskRow): boolean {
  if (before.status === 'waiting' && before.claimId === attempt.claimId) return true;
  return attempt.scheduledAt !== null && before.scheduledAt !== null && attempt.scheduledAt < before.scheduledAt;
}

function granted(attempt: Attempt, { owner }: { owner: string }, task: Omit<Granted, 'owner'>): Claim {
  return { answer: 'run', claimed: claimedOf(attempt, owner, task) };
}

/** Each by its name: what is added to a spread object makes it a slow one, and all of an attempt reads from this one. */
function claimedOf(before: Attempt, owner: string, task: Omit<Granted, 'owner'>): Claimed {
  const { itemId, visit, epoch, state, stage, unit, claimId, token, scheduledAt, isRetried, worker } = before;
  const { fence, attempt, errors, checkpoint } = task;
  return {
    itemId,
    visit,
    epoch,
    state,
    stage,
    unit,
    claimId,
    token,
    scheduledAt,
    isRetried,
    worker,
    fence,
    attempt,
    errors,
    checkpoint,
    owner,
  };
}

/** In the state of the attempt, or in the rest that this claim leaves. */
function isAt(pipeline: Pipeline, item: ItemRow, attempt: Attempt): boolean {
  if (item.visit !== attempt.visit) return false;
  return item.state === attempt.state || claimedState(rowOf(pipeline, item.state)) === attempt.state;
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
  await recordGivenBack(transaction, pipeline, found);
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
       suspect = $8, recovering = false, scheduled_at = $9, started_at = now(), beat_at = now(), progress = NULL,
       progress_at = NULL, retry_at = NULL
     WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4
     RETURNING fence, attempt, errors, checkpoint`,
    [...taskKey(attempt), attempt.claimId, attempt.token, attempt.worker, suspect, attempt.scheduledAt],
  );
  const [taken] = rows;
  if (!taken) throw new Error(`task of item ${item.id} vanished while it was locked`);
  if (task.crashes > 0 || task.recovering) await markTaskMoving(transaction, attempt);
  if (item.epoch > 1 || task.recovering) await markRescueMoving(transaction, item);
  const claimed = claimedOf(attempt, item.owner, taken);
  return { answer: 'run', claimed: passage.passes.length > 0 ? { ...claimed, passes: passage.passes } : claimed };
}
