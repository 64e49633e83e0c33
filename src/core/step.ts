import { claimedState, isAwaits, isDoes, isEnd, rowOf, stagesIn } from './machine.js';
import type { Pipeline, StageRow } from './pipeline.js';
import { type PriorityKey, priorityKeyOf } from './priority.js';
import { msOf } from './span.js';

/** The run's next step. It is stored in workflow history, so fields may be added but must never change their
 *  meaning. */
export type Step = StageStep | UnitsStep | WaitStep | NextStep | EndStep;

interface Timed {
  visit: number;
  state: string;
  stage: string;
  withinMs: number;
  beatsMs: number;
  /** The item's level when the step was told. Steps of versions before this field have none. */
  priorityKey?: PriorityKey;
}
export type StageStep = Timed & { do: 'stage'; short: boolean };
/** One window of a fan-out: at most `width` of these units run at once. */
export type UnitsStep = Timed & { do: 'units'; units: string[]; width: number };
/** The run waits until a wake, or for this long. */
export interface WaitStep {
  do: 'wait';
  state: string;
  forMs: number | null;
  reason: string;
}
/** The run asks for its next step, which the row knows. */
export interface NextStep {
  do: 'next';
}
export interface EndStep {
  do: 'end';
  why: 'final' | 'left' | 'superseded';
}

/** The heartbeat timeout where the table names none. Four beats may be lost before a worker counts as frozen. */
export const DEFAULT_BEATS = '4s';

/** No heartbeat timeout is shorter, for two reasons. A worker frozen inside a transaction loses its locks after 1.5 s,
 *  and the next attempt must not come earlier. A worker beats its row once a second at most, so that three quarters of
 *  a shorter timeout would prove nothing. */
export const SHORTEST_BEATS = '2s';

/** Units handed to a run at once. Large enough that the idle places at the end of a window hardly count, small enough
 *  for history. */
export const UNITS_PER_WINDOW = 100;

/** How often an item asks again for a place in a full state. */
export const ADMISSION_RETRY_MS = 5_000;

export function stageStep(state: string, row: StageRow, visit: number): StageStep {
  return { do: 'stage', ...timesOf(state, row, visit), short: row.short ?? false };
}

export function unitsStep(state: string, row: StageRow, visit: number, units: string[]): UnitsStep {
  return { do: 'units', ...timesOf(state, row, visit), units, width: row.fanOut?.width ?? 1 };
}

function timesOf(state: string, row: StageRow, visit: number): Timed {
  return {
    visit,
    state,
    stage: row.stage,
    withinMs: msOf(row.within),
    beatsMs: msOf(row.beats ?? DEFAULT_BEATS),
  };
}

/** The step of an item that has just entered a state, of which no stage has run in this visit. Null in a state that
 *  rests until something other than a run moves the item. */
export function entryStep(pipeline: Pipeline, state: string, visit: number): Step | null {
  const row = rowOf(pipeline, state);
  if (isEnd(row)) return { do: 'end', why: 'final' };
  if (isAwaits(row)) return { do: 'wait', state, forMs: null, reason: 'awaiting_decision' };
  if (isDoes(row)) return firstStep(state, stagesIn(row), visit);
  const claimed = claimedState(row);
  return claimed === undefined ? null : firstStep(claimed, stagesIn(rowOf(pipeline, claimed)), visit);
}

/** The step with the level of the item's present priority, where the step's work may have to wait for a worker. */
export function withPriority(step: Step, priority: number): Step {
  return step.do === 'stage' || step.do === 'units' ? { ...step, priorityKey: priorityKeyOf(priority) } : step;
}

function firstStep(state: string, stages: readonly StageRow[], visit: number): Step {
  const [first] = stages;
  if (!first) throw new RangeError(`state '${state}' does no stage`);
  return first.fanOut ? { do: 'next' } : stageStep(state, first, visit);
}
