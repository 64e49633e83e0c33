import { fanOutFedBy, stageOf } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import { stageStep, type Step, UNITS_PER_WINDOW, unitsStep } from '../../core/step.js';
import type { JsonObject, Save, StageResult } from '../../ports/stage.js';
import { storableText } from '../postgres/parameters.js';
import type { Claimed, Ending } from './attempt.js';
import { needsRow, type Sequel, sequelOf, spentMove, stepOnEntry } from './sequel.js';
import type { ItemError, Move } from './transition.js';

/** The writes of a commit, decided from the table before anything is written. */
export interface Plan {
  /** Columns of the task. */
  status: 'done' | 'failed' | 'waiting';
  outcome: string | null;
  note: JsonObject | null;
  retryInMs: number | null;
  /** A column of the attempt's record. */
  result: 'done' | 'error' | 'unbegun' | 'shutdown' | 'superseded';
  error: ItemError | null;
  /** Whether the error counts against the task. */
  spendsTry: boolean;
  save: Save | undefined;
  feeds: { stage: string; units: readonly string[] } | null;
  move: Move | null;
  /** The run ends here, and the sweep takes the item on. */
  leaves: boolean;
  step: Step;
  /** The table alone does not say the next step: `stepOf` asks the row in the same transaction. */
  asksRow: boolean;
  /** More statements follow in the same transaction. */
  inParts: boolean;
}

export function planOf(pipeline: Pipeline, claimed: Claimed, ending: Ending): Plan {
  const base: Plan = {
    status: 'waiting',
    outcome: null,
    note: null,
    retryInMs: null,
    result: 'error',
    error: null,
    spendsTry: true,
    save: undefined,
    feeds: null,
    move: null,
    leaves: false,
    step: { do: 'next' },
    asksRow: false,
    inParts: false,
  };
  switch (ending.is) {
    case 'released':
      return { ...base, result: ending.why === 'lost_sight' ? 'superseded' : 'shutdown' };
    case 'error':
    case 'unbegun':
      return {
        ...base,
        error: storableError(ending.error),
        retryInMs: ending.retryInMs,
        ...(ending.is === 'unbegun' && { result: 'unbegun', spendsTry: false }),
      };
    case 'spent':
      return spentPlan(pipeline, claimed, storableError(ending.error), base);
    case 'done':
      return donePlan(pipeline, claimed, ending, base);
  }
}

function storableError(error: ItemError): ItemError {
  return { ...error, message: storableText(error.message) };
}

function donePlan(pipeline: Pipeline, claimed: Claimed, result: StageResult, base: Plan): Plan {
  const { outcome, save, units } = result;
  const done: Plan = { ...base, status: 'done', result: 'done', outcome, note: result.note ?? null, save };
  if (claimed.unit !== '') return done;
  const finished = { state: claimed.state, stage: claimed.stage, outcome };
  const feeds = units ? { stage: fedStageOf(pipeline, finished), units: distinctUnitsOf(units) } : null;
  const sequel = sequelOf(pipeline, finished, { ...done.note, attempt: claimed.attempt });
  return follow(pipeline, claimed, { ...done, feeds }, sequel);
}

function fedStageOf(pipeline: Pipeline, finished: { state: string; stage: string; outcome: string }): string {
  const fed = fanOutFedBy(pipeline, finished);
  if (fed === undefined) throw new RangeError(`'${finished.stage}' returned units, but no fan-out follows it`);
  return fed;
}

/** Each unit once: the window is made from this list, and two attempts at one unit would take it from each other. */
function distinctUnitsOf(units: readonly string[]): string[] {
  if (units.includes('')) throw new RangeError('every unit needs a name');
  return [...new Set(units)];
}

function spentPlan(pipeline: Pipeline, claimed: Claimed, error: ItemError, base: Plan): Plan {
  const { row } = stageOf(pipeline, claimed.stage);
  const failed: Plan = { ...base, status: 'failed', error };
  const metadata = { attempt: claimed.attempt };
  if (claimed.unit !== '') return failed;
  if (row.spent === 'leave') return { ...failed, status: 'waiting', leaves: true, step: { do: 'end', why: 'left' } };
  if (row.spent === 'skip') {
    // The outcome says that the item went on without the stage. A failed task without an outcome moves the item to where it fails.
    const outcome = 'done';
    const sequel = sequelOf(pipeline, { state: claimed.state, stage: claimed.stage, outcome }, metadata);
    return follow(pipeline, claimed, { ...failed, outcome }, sequel);
  }
  const move = spentMove(pipeline, claimed.state, row, { error, reason: error.class, metadata });
  return follow(pipeline, claimed, failed, { is: 'move', move });
}

function follow(pipeline: Pipeline, claimed: Claimed, plan: Plan, sequel: Sequel): Plan {
  const { state, visit } = claimed;
  if (sequel.is === 'stage') {
    const { stage } = sequel;
    return { ...plan, step: stage.fanOut ? firstWindowOf(pipeline, visit, plan) : stageStep(state, stage, visit) };
  }
  const { move } = sequel;
  if (needsRow(pipeline, move.to)) return { ...plan, asksRow: true };
  const entry = stepOnEntry(pipeline, move.to, visit);
  return { ...plan, move, step: entry.do === 'next' ? firstWindowOf(pipeline, visit, plan) : entry };
}

/** The stage has just named the units, so the first window needs no second look at the table. */
function firstWindowOf(pipeline: Pipeline, visit: number, { feeds }: Plan): Step {
  if (!feeds || feeds.units.length === 0) return { do: 'next' };
  const { state, row } = stageOf(pipeline, feeds.stage);
  return unitsStep(state, row, visit, feeds.units.slice(0, UNITS_PER_WINDOW));
}
