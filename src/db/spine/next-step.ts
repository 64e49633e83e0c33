import type pg from 'pg';
import { isSuspect } from '../../core/deaths.js';
import { isAwaits, isDoes, rowOf, stagesIn } from '../../core/machine.js';
import type { AwaitsRow, Pipeline, StageRow } from '../../core/pipeline.js';
import {
  ADMISSION_RETRY_MS,
  stageStep,
  type Step,
  UNITS_PER_WINDOW,
  unitsStep,
  withPriority,
} from '../../core/step.js';
import type { Sql } from '../../ports/sql.js';
import type { JsonObject } from '../../ports/stage.js';
import { inTransaction } from '../postgres/client.js';
import { markRescueMoving } from '../recovery/receipts.js';
import { mayEnter } from './admission.js';
import { findBreakerHold } from './claim/breaker-pass.js';
import { findPause, markHeld } from './held.js';
import { assertDeletedHere, type ItemRow, lockItem, markSeen } from './item-row.js';
import { type Failure, outcomeMove, sequelOf, spentMove, stepOnEntry } from './sequel.js';
import { type ItemError, type Move, moveLocked, WORKER } from './transition.js';

/** Failed units named in the item's error. The others are counted. */
const UNITS_NAMED = 20;

/** A run that does not know where its row is asks for its step: after a wait, at the end of a window of units, after a claim that
 *  found the row in another state. */
export async function nextStep(
  pool: pg.Pool,
  pipeline: Pipeline,
  run: { itemId: string; epoch: number },
): Promise<Step> {
  return inTransaction(pool, async (transaction) => {
    const item = await lockItem(transaction, run.itemId);
    if (!item) await assertDeletedHere(transaction, run.itemId);
    if (!item || item.epoch !== run.epoch) return { do: 'end', why: 'superseded' };
    await markSeen(transaction, item.id);
    const step = await heldStep(transaction, pipeline, item, await stepOf(transaction, pipeline, item));
    // Where nothing is left to be claimed, the rescue has got the item as far as it goes.
    if (item.epoch > 1 && step.do !== 'stage' && step.do !== 'units') await markRescueMoving(transaction, item);
    return step;
  });
}

/** The step itself, or a wait where a pause of the item or its pipeline, or a breaker, holds the step's stage. A run with a held unit
 *  asks here, so that it waits for the hold that is there when its other units have ended. */
async function heldStep(transaction: Sql, pipeline: Pipeline, item: ItemRow, step: Step): Promise<Step> {
  if (step.do !== 'stage' && step.do !== 'units') return step;
  const held = (await findPause(transaction, item)) ?? (await findBreakerHold(transaction, pipeline, step.stage));
  if (!held) return step;
  return { do: 'wait', state: step.state, forMs: await markHeld(transaction, item, held), reason: held.reason };
}

/** The step of a locked item. Moves the item on where a stored outcome was not applied yet, or where the last unit has ended. */
export async function stepOf(transaction: Sql, pipeline: Pipeline, item: ItemRow): Promise<Step> {
  return withPriority(await findStep(transaction, pipeline, item), item.priority);
}

async function findStep(transaction: Sql, pipeline: Pipeline, item: ItemRow): Promise<Step> {
  const row = rowOf(pipeline, item.state);
  if (isAwaits(row)) return awaitStep(transaction, pipeline, item, row);
  if (!isDoes(row)) return stepOnEntry(pipeline, item.state, item.visit);
  const { state } = item;
  let outcome = 'done';
  let note: JsonObject = {};
  let last = '';
  for (const stage of stagesIn(row)) {
    const progress = await progressOf(transaction, pipeline, item, stage);
    if ('step' in progress) return progress.step;
    if ('failed' in progress) {
      return moveOn(transaction, pipeline, item, spentMove(pipeline, state, stage, progress.failed));
    }
    outcome = progress.outcome;
    note = progress.note ?? {};
    last = stage.stage;
  }
  const sequel = sequelOf(pipeline, { state, stage: last, outcome }, note);
  if (sequel.is === 'stage') throw new RangeError(`'${last}' is not the last stage of '${state}'`);
  return moveOn(transaction, pipeline, item, sequel.move);
}

/** In a person's state. An item that a rescue took back may come to the state again with its decision made: nobody is asked twice
 *  in one visit. */
async function awaitStep(transaction: Sql, pipeline: Pipeline, item: ItemRow, row: AwaitsRow): Promise<Step> {
  const { state } = item;
  const { rows } = await transaction.query<{ id: string; outcome: string; actor: string }>(
    'SELECT id, outcome, actor FROM decisions WHERE item_id = $1 AND visit = $2 AND state = $3',
    [item.id, item.visit, state],
  );
  const [decision] = rows;
  const move =
    decision &&
    outcomeMove(pipeline, {
      state,
      outcome: decision.outcome,
      by: row.awaits,
      actor: WORKER,
      metadata: { decision: decision.id, decidedBy: decision.actor },
    });
  if (!move) return { do: 'wait', state, forMs: null, reason: 'awaiting_decision' };
  return moveOn(transaction, pipeline, item, move);
}

type Progress = { step: Step } | { outcome: string; note?: JsonObject | null } | { failed: Failure };

async function progressOf(transaction: Sql, pipeline: Pipeline, item: ItemRow, stage: StageRow): Promise<Progress> {
  return stage.fanOut ? unitsProgress(transaction, item, stage) : stageProgress(transaction, pipeline, item, stage);
}

async function stageProgress(transaction: Sql, pipeline: Pipeline, item: ItemRow, stage: StageRow): Promise<Progress> {
  const { rows } = await transaction.query<EndedTask & { crashes: number; ownDeaths: number }>(
    `SELECT status, outcome, note, crashes, own_deaths AS "ownDeaths", COALESCE(error_class, 'UNKNOWN') AS "errorClass",
       COALESCE(error_message, 'no reason recorded') AS "errorMessage"
     FROM tasks WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = ''`,
    [item.id, item.visit, stage.stage],
  );
  const [task] = rows;
  if (task?.status === 'done') return { outcome: task.outcome ?? 'done', note: task.note };
  if (task?.status === 'failed') return failedProgress(stage, task);
  const step = stageStep(item.state, stage, item.visit);
  // A local activity can't run a suspect in a process of its own.
  return { step: task && isSuspect(pipeline, task) ? { ...step, short: false } : step };
}

interface EndedTask {
  status: string;
  outcome: string | null;
  note: JsonObject | null;
  errorClass: ItemError['class'];
  errorMessage: string;
}

/** The task has failed and its item is in the state still: the item went on without the stage, or a rescue brought the item back to
 *  where it had failed. */
function failedProgress({ stage, spent }: StageRow, { outcome, errorClass, errorMessage }: EndedTask): Progress {
  if (outcome !== null || typeof spent !== 'object') return { outcome: 'done' };
  return { failed: { error: { class: errorClass, message: errorMessage, stage }, reason: errorClass, metadata: {} } };
}

async function unitsProgress(transaction: Sql, item: ItemRow, stage: StageRow): Promise<Progress> {
  const key = [item.id, item.visit, stage.stage];
  const open = await transaction.query<{ unit: string }>(
    `SELECT unit FROM tasks
     WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit <> '' AND status = ANY (ARRAY['waiting', 'running'])
     ORDER BY position LIMIT ${UNITS_PER_WINDOW}`,
    key,
  );
  const units = open.rows.map((each) => each.unit);
  if (units.length > 0) return { step: unitsStep(item.state, stage, item.visit, units) };
  if (mayLeaveUnits(item, stage)) return { outcome: 'done' };
  const failed = await transaction.query<FailedUnit>(
    `SELECT unit, error_class AS "errorClass", error_message AS "errorMessage" FROM tasks
     WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit <> '' AND status = 'failed' ORDER BY position`,
    key,
  );
  return failed.rows.length > 0 ? { failed: unitsFailure(stage.stage, failed.rows) } : { outcome: 'done' };
}

interface FailedUnit {
  unit: string;
  errorClass: ItemError['class'] | null;
  errorMessage: string | null;
}

function unitsFailure(stage: string, failed: readonly FailedUnit[]): Failure {
  const named = failed.slice(0, UNITS_NAMED).map((each) => each.unit);
  const more = failed.length > named.length ? ` and ${failed.length - named.length} more` : '';
  const first = failed[0]?.errorMessage ?? 'no reason recorded';
  const message = `${failed.length} units failed: ${named.join(', ')}${more}; the first: ${first}`;
  return {
    error: { class: failed[0]?.errorClass ?? 'UNKNOWN', message, stage },
    reason: 'UNITS_FAILED',
    metadata: { failedUnits: failed.length, units: named },
  };
}

function mayLeaveUnits(item: ItemRow, stage: StageRow): boolean {
  return stage.fanOut?.needs === 'any' || (stage.fanOut?.needs === 'asked' && item.allowPartial);
}

/** Moves a locked item and says what comes next. Where the next state is full, the item stays and its run asks again. */
async function moveOn(transaction: Sql, pipeline: Pipeline, item: ItemRow, move: Move): Promise<Step> {
  if (!(await mayEnter(transaction, pipeline, move.to))) {
    return { do: 'wait', state: item.state, forMs: ADMISSION_RETRY_MS, reason: 'backlog' };
  }
  const moved = await moveLocked(transaction, pipeline, item, move);
  if (isAwaits(rowOf(pipeline, move.to))) return stepOf(transaction, pipeline, { ...item, state: move.to });
  return stepOnEntry(pipeline, move.to, moved.visit);
}
