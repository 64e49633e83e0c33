import type pg from 'pg';
import { isSuspect } from '../../../core/deaths.js';
import { claimedState, rowOf } from '../../../core/machine.js';
import type { Pipeline } from '../../../core/pipeline.js';
import { ADMISSION_RETRY_MS, type Step } from '../../../core/step.js';
import type { Sql } from '../../../ports/sql.js';
import { inTransaction } from '../../postgres/client.js';
import { markRescueMoving, markTaskMoving } from '../../recovery/receipts.js';
import { mayEnter } from '../admission.js';
import { type Attempt, type Claimed, taskKey } from '../attempt.js';
import { clearHeld, findPause, type Held, markHeld } from '../held.js';
import { assertDeletedHere, type ItemRow, lockItem, markSeen } from '../item-row.js';
import { stepOf } from '../next-step.js';
import { outcomeMove } from '../sequel.js';
import { type Found, lockTask, type TaskRow } from '../task-row.js';
import { moveLocked, WORKER } from '../transition.js';
import { passBreakers } from './breaker-pass.js';
import { claimAtOnce, type TakenTask } from './claim-at-once.js';
import { endUnended } from './crash.js';
import { askForPlace, stopAsking } from './isolated-places.js';
import { recordGivenBack } from './take-over.js';
import { type Earlier, isItsTurn, stagesBefore } from './turn.js';

export type Claim =
  | { is: 'run'; claimed: Claimed }
  /** The work is done already, or the item is in another state: the run follows this step instead. */
  | { is: 'done'; step: Step }
  | { is: 'hold'; forMs: number; reason: HoldReason }
  | { is: 'superseded' };

export type HoldReason = 'paused' | 'breaker_open' | 'suspect_wait' | 'backlog' | 'outdated';

/** Nobody waits for an outdated attempt. The next attempt comes after this long, in case Temporal's clock was set back. */
const OUTDATED_RETRY_MS = 1_000;

/** Takes the task for this attempt. The item row is locked before the task, as everywhere, so that a cancel or a rescue
 *  can't slip in between the check and the write. Raising the fence makes every earlier attempt a zombie. */
export async function claimTask(pool: pg.Pool, pipeline: Pipeline, attempt: Attempt): Promise<Claim> {
  const earlier = stagesBefore(pipeline, attempt);
  const taken = earlier && (await claimAtOnce(pool, pipeline, attempt, earlier));
  if (taken) return grantClaim(attempt, taken.owner, taken);
  return inTransaction(pool, (transaction) => claimCarefully(transaction, pipeline, attempt, earlier));
}

async function claimCarefully(
  transaction: Sql,
  pipeline: Pipeline,
  attempt: Attempt,
  earlier: Earlier | null,
): Promise<Claim> {
  const item = await lockItem(transaction, attempt.itemId);
  if (!item) await assertDeletedHere(transaction, attempt.itemId);
  if (!item || item.epoch !== attempt.epoch || item.endedAt) return { is: 'superseded' };
  const isHere = earlier && isAt(pipeline, item, attempt) && (await isItsTurn(transaction, attempt, earlier));
  if (!isHere) return { is: 'done', step: await stepOf(transaction, pipeline, item) };
  await markSeen(transaction, item.id);
  const found = await lockTask(transaction, attempt);
  // The attempt asks again because the answer was lost. It holds the task already, whatever has happened since.
  if (isHeldBy(attempt, found) && isSameTry(attempt, found)) return grantClaim(attempt, item.owner, found);
  const claim = await claimFound(transaction, pipeline, { item, attempt, before: found });
  if (found.asksForPlace && claim.is === 'hold' && claim.reason !== 'suspect_wait')
    await stopAsking(transaction, attempt);
  return claim;
}

async function claimFound(
  transaction: Sql,
  pipeline: Pipeline,
  { item, attempt, before: found }: Found,
): Promise<Claim> {
  const before = isHeldBy(attempt, found) ? await freeUnbegun(transaction, attempt, found) : found;
  if (isOutdated(attempt, before)) return { is: 'hold', forMs: OUTDATED_RETRY_MS, reason: 'outdated' };
  const pause = await findPause(transaction, item);
  if (pause) return holdClaim(transaction, item, pause);
  const full = await leaveByClaim(transaction, pipeline, item, attempt);
  return full ?? claimLocked(transaction, pipeline, { item: { ...item, state: attempt.state }, attempt, before });
}

async function holdClaim(transaction: Sql, item: ItemRow, held: Held): Promise<Claim> {
  return { is: 'hold', forMs: await markHeld(transaction, item, held), reason: held.reason };
}

function isHeldBy({ claimId }: Attempt, task: TaskRow): boolean {
  return task.status === 'running' && task.claimId === claimId;
}

function isSameTry(attempt: Attempt, task: TaskRow): boolean {
  return attempt.scheduledAt?.getTime() === task.scheduledAt?.getTime();
}

/** The attempt before was granted the task, was never told so and has gone. This attempt asks under the same id and claims as if
 *  there had been no grant. */
async function freeUnbegun(transaction: Sql, attempt: Attempt, found: TaskRow): Promise<TaskRow> {
  await transaction.query(
    `UPDATE tasks SET status = 'waiting', fence = fence + 1, attempt = attempt - 1, claim_id = NULL, token = NULL, isolated = false
     WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4`,
    taskKey(attempt),
  );
  return { ...found, status: 'waiting', claimId: null, isolated: false };
}

/** A worker that was frozen wakes with attempts that Temporal has given to other workers since. It must not take their tasks: those
 *  attempts would count as crashed and make the item a suspect. Nor may a task be claimed under the id that it has ended under:
 *  that claim was sent twice, and comes late the second time. */
function isOutdated(attempt: Attempt, before: TaskRow): boolean {
  if (before.status === 'waiting' && before.claimId === attempt.claimId) return true;
  return attempt.scheduledAt !== null && before.scheduledAt !== null && attempt.scheduledAt < before.scheduledAt;
}

function grantClaim(attempt: Attempt, owner: string, task: Granted): Claim {
  const claimed = claimedOf(attempt, owner, task);
  if (task.isolated) claimed.isolated = true;
  return { is: 'run', claimed };
}

type Granted = Omit<TakenTask, 'owner'> & { isolated?: boolean };

/** Names each field, because adding fields to a spread object makes it slow, and the whole attempt reads from this object. */
function claimedOf(before: Attempt, owner: string, task: Omit<TakenTask, 'owner'>): Claimed {
  const { itemId, visit, epoch, state, stage, unit, claimId, token, scheduledAt, isRetried, worker, places } = before;
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
    places,
    fence,
    attempt,
    errors,
    checkpoint,
    owner,
  };
}

/** Whether the item is in the state of the attempt, or in the rest that this claim leaves. */
function isAt(pipeline: Pipeline, item: ItemRow, attempt: Attempt): boolean {
  if (item.visit !== attempt.visit) return false;
  return item.state === attempt.state || claimedState(rowOf(pipeline, item.state)) === attempt.state;
}

/** Moves an item that rests into the attempt's state by its first claim. A claim: the state is full. */
async function leaveByClaim(
  transaction: Sql,
  pipeline: Pipeline,
  item: ItemRow,
  attempt: Attempt,
): Promise<Claim | null> {
  if (item.state === attempt.state) return null;
  if (!(await mayEnter(transaction, pipeline, attempt.state))) {
    return { is: 'hold', forMs: ADMISSION_RETRY_MS, reason: 'backlog' };
  }
  const { state } = item;
  const move = outcomeMove(pipeline, { state, outcome: 'claimed', by: attempt.stage, actor: WORKER });
  if (!move) throw new RangeError(`no claim leaves '${state}'`);
  await moveLocked(transaction, pipeline, item, move);
  return null;
}

async function claimLocked(transaction: Sql, pipeline: Pipeline, found: Found): Promise<Claim> {
  const { item, attempt, before } = found;
  if (before.status === 'done' || before.status === 'failed') {
    return { is: 'done', step: await stepOf(transaction, pipeline, item) };
  }
  await recordGivenBack(transaction, pipeline, found);
  const task = before.status === 'running' ? await endUnended(transaction, pipeline, found) : before;
  const isIsolated = isSuspect(pipeline, task);
  // A local activity can't run in a process of its own: the run is told the same stage as an ordinary activity.
  if (isIsolated && attempt.token === null) return { is: 'done', step: await stepOf(transaction, pipeline, item) };
  const waitMs = isIsolated ? await askForPlace(transaction, attempt) : null;
  if (waitMs !== null) return { is: 'hold', forMs: waitMs, reason: 'suspect_wait' };
  // Breakers come last, so that only an attempt that runs takes a place.
  const passage = await passBreakers(transaction, pipeline, attempt);
  if (passage.is === 'hold') return holdClaim(transaction, item, passage.held);
  // "suspect" is for workers of the version before, which would count the next crash as that of a sole suspect.
  const { rows } = await transaction.query<Omit<TakenTask, 'owner'>>(
    `UPDATE tasks SET status = 'running', fence = fence + 1, attempt = attempt + 1, claim_id = $5, token = $6, worker = $7,
       isolated = $8, suspect = false, place_asked_at = NULL, recovering = false, scheduled_at = $9, started_at = now(), beat_at = now(), progress = NULL,
       progress_at = NULL, retry_at = NULL
     WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4
     RETURNING fence, attempt, errors, checkpoint`,
    [...taskKey(attempt), attempt.claimId, attempt.token, attempt.worker, isIsolated, attempt.scheduledAt],
  );
  const [taken] = rows;
  if (!taken) throw new Error(`task of item ${item.id} vanished while it was locked`);
  if (attempt.unit === '') await clearHeld(transaction, item);
  if (task.crashes > 0 || task.recovering) await markTaskMoving(transaction, attempt);
  if (item.epoch > 1 || task.recovering) await markRescueMoving(transaction, item);
  const claimed = claimedOf(attempt, item.owner, taken);
  if (isIsolated) claimed.isolated = true;
  if (passage.passes.length > 0) claimed.passes = passage.passes;
  return { is: 'run', claimed };
}
