import {
  type After,
  afterStage,
  fanOutFedBy,
  isAwaits,
  isLimited,
  rowOf,
  spentTriggerOf,
  stageOf,
} from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import { entryStep, stageStep, type Step, UNITS_PER_WINDOW, unitsStep } from '../../core/step.js';
import type { JsonObject, Save, StageResult } from '../../ports/stage.js';
import type { Claimed } from './attempt.js';
import { storableText } from '../postgres/parameters.js';
import { actorIn, type ItemError, type Move } from './transition.js';

/** How an attempt ended, as far as its task is concerned. */
export type Ending =
  | ({ is: 'done' } & StageResult)
  /** The tries are spent: the row says move, skip or leave. */
  | { is: 'spent'; error: ItemError }
  | { is: 'error'; error: ItemError; retryInMs: number }
  /** Costs nothing: the worker shuts down or, `lostSight`, Temporal knows the attempt no longer. */
  | { is: 'released'; lostSight?: boolean };

/** What a commit writes, decided from the table before anything is written. */
export interface Plan {
  status: 'done' | 'failed' | 'waiting';
  result: 'done' | 'error' | 'shutdown' | 'superseded';
  outcome: string | null;
  note: JsonObject | null;
  error: ItemError | null;
  retryInMs: number | null;
  save: Save | undefined;
  feeds: { stage: string; units: readonly string[] } | null;
  move: Move | null;
  /** The run ends here and the sweep takes over. */
  leaves: boolean;
  step: Step;
  /** The next step is not known from the table alone: the row has to be asked in the same transaction. */
  asksRow: boolean;
  /** More statements follow in the same transaction. */
  inParts: boolean;
}

export function planOf(pipeline: Pipeline, claimed: Claimed, ending: Ending): Plan {
  const base: Plan = {
    status: 'waiting',
    result: 'error',
    outcome: null,
    note: null,
    error: null,
    retryInMs: null,
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
      return { ...base, result: ending.lostSight ? 'superseded' : 'shutdown' };
    case 'error':
      return { ...base, error: storable(ending.error), retryInMs: ending.retryInMs };
    case 'spent':
      return spentPlan(pipeline, claimed, { ...base, error: storable(ending.error), status: 'failed' });
    case 'done':
      return donePlan(pipeline, claimed, ending, base);
  }
}

function storable(error: ItemError): ItemError {
  return { ...error, message: storableText(error.message) };
}

function donePlan(pipeline: Pipeline, claimed: Claimed, result: StageResult, base: Plan): Plan {
  const { outcome, save, units } = result;
  const done: Plan = { ...base, status: 'done', result: 'done', outcome, note: result.note ?? null, save };
  if (claimed.unit !== '') return done;
  const finished = { state: claimed.state, stage: claimed.stage, outcome };
  const feeds = units ? { stage: fedStage(pipeline, finished), units: namedUnits(units) } : null;
  return follow(pipeline, claimed, { ...done, feeds }, afterStage(pipeline, finished));
}

function fedStage(pipeline: Pipeline, finished: { state: string; stage: string; outcome: string }): string {
  const fed = fanOutFedBy(pipeline, finished);
  if (fed === undefined) throw new RangeError(`'${finished.stage}' returned units, but no fan-out follows it`);
  return fed;
}

/** Each once: the window is made from this list, and two attempts at one unit would take it from each other. */
function namedUnits(units: readonly string[]): string[] {
  if (units.includes('')) throw new RangeError('every unit needs a name');
  return [...new Set(units)];
}

function spentPlan(pipeline: Pipeline, claimed: Claimed, base: Plan): Plan {
  const { row } = stageOf(pipeline, claimed.stage);
  const { spent } = row;
  if (claimed.unit !== '') return base;
  if (spent === 'leave') return { ...base, status: 'waiting', leaves: true, step: { do: 'end', why: 'left' } };
  if (spent === 'skip') {
    // The outcome says that the item went on without it; whoever finds a failed task without one moves to where it fails.
    const skipped: Plan = { ...base, outcome: 'done' };
    return follow(pipeline, claimed, skipped, afterStage(pipeline, { ...claimed, outcome: 'done' }));
  }
  const plan = follow(pipeline, claimed, base, { goes: 'to', state: spent.move, trigger: spentTriggerOf(row) });
  return plan.move && base.error
    ? { ...plan, move: { ...plan.move, via: 'spent', reason: base.error.class, error: base.error } }
    : plan;
}

function follow(pipeline: Pipeline, claimed: Claimed, plan: Plan, after: After): Plan {
  if (after.goes === 'on') {
    const { stage } = after;
    const step = stage.fanOut ? firstWindow(pipeline, claimed, plan) : stageStep(claimed.state, stage, claimed.visit);
    return { ...plan, step };
  }
  const metadata = { ...plan.note, attempt: claimed.attempt };
  const move: Move = {
    from: claimed.state,
    to: after.state,
    via: 'outcome',
    trigger: after.trigger,
    actor: actorIn(pipeline, claimed.state),
    metadata,
  };
  if (isLimited(rowOf(pipeline, after.state)) || mayBeDecided(pipeline, after.state)) return { ...plan, asksRow: true };
  const entry = entryStep(pipeline, after.state, claimed.visit) ?? { do: 'end', why: 'left' };
  return { ...plan, move, step: entry.do === 'next' ? firstWindow(pipeline, claimed, plan) : entry };
}

/** A rescue that took the item back lets it come to a person's state a second time in one visit. */
function mayBeDecided(pipeline: Pipeline, state: string): boolean {
  return pipeline.rescue.resumesAt !== undefined && isAwaits(rowOf(pipeline, state));
}

/** The units were just named, so the first window needs no second look at the table. */
function firstWindow(pipeline: Pipeline, claimed: Claimed, plan: Plan): Step {
  if (!plan.feeds || plan.feeds.units.length === 0) return { do: 'next' };
  const { state, row } = stageOf(pipeline, plan.feeds.stage);
  return unitsStep(state, row, claimed.visit, plan.feeds.units.slice(0, UNITS_PER_WINDOW));
}
