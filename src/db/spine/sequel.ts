import { afterStage, isAwaits, isLimited, rowOf, spentTriggerOf, targetOf, triggerOf } from '../../core/machine.js';
import type { Pipeline, StageRow } from '../../core/pipeline.js';
import { entryStep, type Step } from '../../core/step.js';
import type { JsonObject } from '../../ports/stage.js';
import { type Actor, type ItemError, type Move, SYSTEM, WORKER } from './transition.js';

/** What follows the outcome of a stage: the next stage of the same state, or a move. */
export type Sequel = { is: 'stage'; stage: StageRow } | { is: 'move'; move: Move };

interface Finished {
  state: string;
  stage: string;
  outcome: string;
}

export function sequelOf(pipeline: Pipeline, finished: Finished, metadata: JsonObject): Sequel {
  const after = afterStage(pipeline, finished);
  if (after.is === 'stage') return { is: 'stage', stage: after.stage };
  const { state: from } = finished;
  const { state: to, trigger } = after;
  return { is: 'move', move: { from, to, via: 'outcome', trigger, actor: moverIn(pipeline, from), metadata } };
}

/** The facts of a stage whose tries are spent: its own error, or the errors of its units. */
export interface Failure {
  error: ItemError;
  /** Why the item ends, in the word that its owner sees. */
  reason: string;
  metadata: JsonObject;
}

/** The move that the table names for a stage whose tries are spent. */
export function spentMove(pipeline: Pipeline, from: string, stage: StageRow, failure: Failure): Move {
  if (typeof stage.spent !== 'object') throw new RangeError(`'${stage.stage}' must name the state that it fails to`);
  const { spent } = stage;
  return {
    from,
    to: spent.move,
    via: 'spent',
    trigger: spentTriggerOf(stage),
    actor: moverIn(pipeline, from),
    ...failure,
  };
}

/** Who makes the moves that the stages of a state lead to. */
function moverIn(pipeline: Pipeline, state: string): Actor {
  const row = rowOf(pipeline, state);
  return 'by' in row && row.by === 'system' ? SYSTEM : WORKER;
}

interface Outcome {
  state: string;
  outcome: string;
  /** The first half of the trigger's name where the table gives it none: the person, the stage or the state. */
  by: string;
  actor: Actor;
  metadata?: JsonObject;
}

/** The move that an outcome other than a stage's leads to: a person's decision, an event, a claim. Undefined: the state's row does
 *  not name the outcome. */
export function outcomeMove(pipeline: Pipeline, { state, outcome, by, actor, metadata }: Outcome): Move | undefined {
  const row = rowOf(pipeline, state);
  const to = targetOf(row, outcome);
  if (to === undefined) return undefined;
  const trigger = triggerOf(row, by, outcome);
  return { from: state, to, via: 'outcome', trigger, actor, ...(metadata && { metadata }) };
}

/** The step of an item that has just entered the state. The run ends where nothing but an event moves the item on. */
export function stepOnEntry(pipeline: Pipeline, state: string, visit: number): Step {
  return entryStep(pipeline, state, visit) ?? { do: 'end', why: 'left' };
}

/** Whether the table alone can't say what follows a move into the state: the state may be full, or its decision may be made
 *  already, because a rescue that takes items back lets an item enter a person's state twice in one visit. */
export function needsRow(pipeline: Pipeline, state: string): boolean {
  const row = rowOf(pipeline, state);
  return isLimited(row) || (pipeline.rescue.resumesAt !== undefined && isAwaits(row));
}
