import type pg from 'pg';
import {
  afterStage,
  claimedState,
  isAwaits,
  isEnd,
  isRests,
  rowOf,
  spentTriggerOf,
  stagesIn,
  targetOf,
  triggerOf,
} from '../../core/machine.js';
import type { AwaitsRow, Pipeline, StageRow } from '../../core/pipeline.js';
import { ADMISSION_RETRY_MS, entryStep, stageStep, type Step, UNITS_PER_WINDOW, unitsStep } from '../../core/step.js';
import type { Sql } from '../../ports/sql.js';
import type { JsonObject } from '../../ports/stage.js';
import { mayEnter } from './admission.js';
import { inTransaction } from '../postgres/client.js';
import { type ItemRow, lockItem, markSeen } from './item-row.js';
import { markRescueMoving } from '../recovery/receipts.js';
import { actorIn, type ItemError, type Move, recordTransition, WORKER } from './transition.js';

/** Failed units named in the item's error; the rest is counted. */
const UNITS_NAMED = 20;

/** Asked by a run that does not know where its row is: after a wait, at the end of a window of units, after a claim that
 *  found the row elsewhere. */
export async function nextStep(
  pool: pg.Pool,
  pipeline: Pipeline,
  run: { itemId: string; epoch: number },
): Promise<Step> {
  return inTransaction(pool, async (transaction) => {
    const item = await lockItem(transaction, run.itemId);
    if (!item || item.epoch !== run.epoch) return { do: 'end', why: 'superseded' };
    await markSeen(transaction, item.id);
    const step = await stepOf(transaction, pipeline, item);
    // Where nothing is left to be claimed, the rescue has got the item as far as it goes.
    if (item.epoch > 1 && step.do !== 'stage' && step.do !== 'units') await markRescueMoving(transaction, item);
    return step;
  });
}

/** The step of a locked item. Moves it on where a stored outcome was not applied yet, or the last unit has ended. */
export async function stepOf(transaction: Sql, pipeline: Pipeline, item: ItemRow): Promise<Step> {
  const row = rowOf(pipeline, item.state);
  if (isEnd(row)) return { do: 'end', why: 'final' };
  if (isAwaits(row)) return awaitStep(transaction, pipeline, item, row);
  if (isRests(row)) {
    return claimedState(row) === undefined
      ? { do: 'end', why: 'left' }
      : (entryStep(pipeline, item.state, item.visit) ?? { do: 'end', why: 'left' });
  }
  let outcome = 'done';
  let note: JsonObject = {};
  let last = '';
  for (const stage of stagesIn(row)) {
    const progress = await progressOf(transaction, item, stage);
    if ('step' in progress) return progress.step;
    if ('failed' in progress) return moveOn(transaction, pipeline, item, failedMove(item, stage, progress.failed));
    outcome = progress.outcome;
    note = progress.note ?? {};
    last = stage.stage;
  }
  const after = afterStage(pipeline, { state: item.state, stage: last, outcome });
  if (after.goes === 'on') throw new RangeError(`'${last}' is not the last stage of '${item.state}'`);
  return moveOn(transaction, pipeline, item, {
    from: item.state,
    to: after.state,
    via: 'outcome',
    trigger: after.trigger,
    actor: actorIn(pipeline, item.state),
    metadata: note,
  });
}

/** A person's state. Where a rescue took the item back it may come here again with the decision made: it is not asked for
 *  twice in one visit. */
async function awaitStep(transaction: Sql, pipeline: Pipeline, item: ItemRow, row: AwaitsRow): Promise<Step> {
  const { rows } = await transaction.query<{ id: string; outcome: string; actor: string }>(
    'SELECT id, outcome, actor FROM decisions WHERE item_id = $1 AND visit = $2 AND state = $3',
    [item.id, item.visit, item.state],
  );
  const [decision] = rows;
  const to = decision && targetOf(row, decision.outcome);
  if (!decision || to === undefined) return { do: 'wait', state: item.state, forMs: null, reason: 'awaiting_decision' };
  return moveOn(transaction, pipeline, item, {
    from: item.state,
    to,
    via: 'outcome',
    trigger: triggerOf(row, row.awaits, decision.outcome),
    actor: WORKER,
    metadata: { decision: decision.id, decidedBy: decision.actor },
  });
}

type Progress = { step: Step } | { outcome: string; note?: JsonObject | null } | { failed: Failure };

/** What a stage whose tries were spent leaves: its own error, or its units'. */
interface Failure {
  error: Omit<ItemError, 'stage'>;
  reason: string;
  metadata: JsonObject;
}

async function progressOf(transaction: Sql, item: ItemRow, stage: StageRow): Promise<Progress> {
  return stage.fanOut ? unitsProgress(transaction, item, stage) : stageProgress(transaction, item, stage);
}

async function stageProgress(transaction: Sql, item: ItemRow, stage: StageRow): Promise<Progress> {
  const { rows } = await transaction.query<EndedTask>(
    `SELECT status, outcome, note, COALESCE(error_class, 'UNKNOWN') AS "errorClass",
       COALESCE(error_message, 'no reason recorded') AS "errorMessage"
     FROM tasks WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = ''`,
    [item.id, item.visit, stage.stage],
  );
  const [task] = rows;
  if (task?.status === 'done') return { outcome: task.outcome ?? 'done', note: task.note };
  if (task?.status === 'failed') return failedProgress(stage, task);
  return { step: stageStep(item.state, stage, item.visit) };
}

interface EndedTask {
  status: string;
  outcome: string | null;
  note: JsonObject | null;
  errorClass: ItemError['class'];
  errorMessage: string;
}

/** Failed and yet here: the item went on without it, or a rescue brought the item back to where it had failed. */
function failedProgress(stage: StageRow, { outcome, errorClass, errorMessage }: EndedTask): Progress {
  if (outcome !== null || typeof stage.spent !== 'object') return { outcome: 'done' };
  return { failed: { error: { class: errorClass, message: errorMessage }, reason: errorClass, metadata: {} } };
}

async function unitsProgress(transaction: Sql, item: ItemRow, stage: StageRow): Promise<Progress> {
  const key = [item.id, item.visit, stage.stage];
  const open = await transaction.query<{ unit: string }>(
    `SELECT unit FROM tasks
     WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit <> '' AND status = ANY (ARRAY['waiting', 'running'])
     ORDER BY position LIMIT ${String(UNITS_PER_WINDOW)}`,
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
  return failed.rows.length > 0 ? { failed: unitsFailure(failed.rows) } : { outcome: 'done' };
}

interface FailedUnit {
  unit: string;
  errorClass: ItemError['class'] | null;
  errorMessage: string | null;
}

function unitsFailure(failed: readonly FailedUnit[]): Failure {
  const named = failed.slice(0, UNITS_NAMED).map((each) => each.unit);
  const more = failed.length > named.length ? ` and ${String(failed.length - named.length)} more` : '';
  const first = failed[0]?.errorMessage ?? 'no reason recorded';
  const message = `${String(failed.length)} units failed: ${named.join(', ')}${more}; the first: ${first}`;
  return {
    error: { class: failed[0]?.errorClass ?? 'UNKNOWN', message },
    reason: 'UNITS_FAILED',
    metadata: { failedUnits: failed.length, units: named },
  };
}

function mayLeaveUnits(item: ItemRow, stage: StageRow): boolean {
  return stage.fanOut?.needs === 'any' || (stage.fanOut?.needs === 'asked' && item.allowPartial);
}

function failedMove(item: ItemRow, stage: StageRow, { error, reason, metadata }: Failure): Move {
  if (typeof stage.spent !== 'object') throw new RangeError(`fan-out '${stage.stage}' must name where it fails to`);
  return {
    from: item.state,
    to: stage.spent.move,
    via: 'spent',
    trigger: spentTriggerOf(stage),
    actor: WORKER,
    metadata,
    reason,
    error: { ...error, stage: stage.stage },
  };
}

/** Moves a locked item and says what comes next; where the next state is full the item stays and asks again. */
async function moveOn(transaction: Sql, pipeline: Pipeline, item: ItemRow, move: Move): Promise<Step> {
  if (!(await mayEnter(transaction, pipeline, move.to))) {
    return { do: 'wait', state: item.state, forMs: ADMISSION_RETRY_MS, reason: 'backlog' };
  }
  const expected = { itemId: item.id, state: item.state, visit: item.visit, epoch: item.epoch };
  const moved = await recordTransition(transaction, pipeline, expected, move);
  if (!moved) throw new Error(`item ${item.id} moved while it was locked`);
  if (isAwaits(rowOf(pipeline, move.to))) return stepOf(transaction, pipeline, { ...item, state: move.to });
  return entryStep(pipeline, move.to, moved.visit) ?? { do: 'end', why: 'left' };
}
