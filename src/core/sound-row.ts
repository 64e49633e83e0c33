import { isAwaits, isDoes, stagesIn } from './machine.js';
import type { Pipeline, StageRow, StateRow } from './pipeline.js';
import { isReservedQueue } from './reserved-queues.js';
import { isSpan, msOf } from './span.js';
import { SHORTEST_BEATS, UNITS_PER_WINDOW } from './step.js';

/** Faults of a single name, number or row. sound-table.ts checks how the rows fit together. */
export function rowProblems(pipeline: Pipeline): string[] {
  return [
    ...nameProblems(pipeline),
    ...sweepProblems(pipeline),
    ...rescueProblems(pipeline),
    ...Object.entries(pipeline.states).flatMap(([state, row]) => stateProblems(state, row)),
  ];
}

/** Names stand in workflow ids, task queues, activities, metric labels, URLs and diagrams. */
const PIPELINE_NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const STATE_NAME = /^[A-Za-z][A-Za-z0-9_]*$/;
const WORD = /^[a-z][A-Za-z0-9_]*$/;
const COLUMN_NAME = /^[a-z][a-z_]*$/;
const TRIGGER = /^[a-z][A-Za-z0-9_-]*$/;

/** Mermaid reads these words, in upper or lower case, as keywords. */
const MERMAID_WORDS = ['state', 'note', 'class', 'classdef', 'style', 'default', 'scale', 'click', 'href'];

/** Activities of every worker besides the stages. No stage may have such a name. */
const RUN_ACTIVITIES = ['nextStep', 'endRun'];

function nameProblems(pipeline: Pipeline): string[] {
  const rows = Object.values(pipeline.states);
  const stages = rows.flatMap(stagesIn);
  const words = rows.flatMap((row) => ('then' in row ? Object.keys(row.then) : []));
  const triggers = [
    ...rows.flatMap((row) => ('triggers' in row ? Object.values(row.triggers ?? {}) : [])),
    ...stages.flatMap(({ spent }) => (typeof spent === 'object' && spent.trigger !== undefined ? [spent.trigger] : [])),
    ...Object.values(pipeline.rescue.triggers ?? {}),
  ];
  return [
    ...nameFaultsIn('a pipeline', [pipeline.name], (name) => PIPELINE_NAME.test(name)),
    ...(isReservedQueue(pipeline.name)
      ? [`'${pipeline.name}' can't be the name of a pipeline: the engine has a task queue of this name`]
      : []),
    ...nameFaultsIn('a state', Object.keys(pipeline.states), isStateName),
    ...nameFaultsIn(
      'a stage',
      stages.map((each) => each.stage),
      (name) => isWord(name) && !RUN_ACTIVITIES.includes(name),
    ),
    ...nameFaultsIn('an outcome', words, isWord),
    ...nameFaultsIn('a trigger', triggers, (name) => TRIGGER.test(name)),
    // These names become part of an SQL statement.
    ...nameFaultsIn('a column', columnsOf(pipeline), (name) => COLUMN_NAME.test(name)),
  ];
}

function columnsOf({ tells }: Pipeline): string[] {
  return tells ? [tells.table, tells.column, ...Object.values(tells.owner?.facts ?? {})] : [];
}

function nameFaultsIn(what: string, names: readonly string[], isGood: (name: string) => boolean): string[] {
  return [...new Set(names)].filter((name) => !isGood(name)).map((name) => `'${name}' can't be the name of ${what}`);
}

function isStateName(name: string): boolean {
  return STATE_NAME.test(name) && !MERMAID_WORDS.includes(name.toLowerCase()) && !isInherited(name);
}

function isWord(name: string): boolean {
  return WORD.test(name) && !isInherited(name);
}

/** Every object inherits these names, so a look-up would find a value that no table contains. */
function isInherited(name: string): boolean {
  return name in Object.prototype;
}

function sweepProblems({ sweep }: Pipeline): string[] {
  const problems = Object.entries(sweep).flatMap(([field, span]) => spanProblems(`sweep.${field}`, span));
  if (problems.length === 0 && msOf(sweep.staleAfter) > msOf(sweep.stuckAfter)) {
    problems.push('an item would be stuck before it is stale');
  }
  return problems;
}

function rescueProblems({ rescue }: Pipeline): string[] {
  const { budget, backoff, budgetResetAfter, oldestRescued } = rescue;
  const problems = [
    ...spanProblems('rescue.budgetResetAfter', budgetResetAfter),
    ...spanProblems('rescue.oldestRescued', oldestRescued),
    ...backoff.flatMap((span) => spanProblems('rescue.backoff', span)),
  ];
  if (!Number.isInteger(budget) || budget < 0) problems.push('rescue.budget must be a whole number, 0 or more');
  if (budget > 0 && backoff.length === 0) problems.push('rescue.backoff must say how long to wait after a rescue');
  if (problems.length === 0 && backoff.some((span) => msOf(span) >= msOf(budgetResetAfter))) {
    problems.push('the rescue budget would be forgotten before it can be spent');
  }
  return problems;
}

function stateProblems(state: string, row: StateRow): string[] {
  const problems = stagesIn(row).flatMap(stageProblems);
  const kinds = ['does', 'awaits', 'rests', 'ends'].filter((kind) => kind in row);
  if (kinds.length !== 1) problems.push(`state '${state}' must do, await, rest or end, and one of them only`);
  if (isDoes(row) && stagesIn(row).length === 0) problems.push(`state '${state}' does nothing`);
  if (!('then' in row)) return problems;
  if (row.admits !== undefined && !isCount(row.admits)) problems.push(`state '${state}' must admit at least one item`);
  for (const outcome of Object.keys(row.triggers ?? {})) {
    if (!Object.hasOwn(row.then, outcome))
      problems.push(`state '${state}' has a trigger for '${outcome}', no outcome of it`);
  }
  for (const outcome of isAwaits(row) ? (row.needsReason ?? []) : []) {
    if (!Object.hasOwn(row.then, outcome))
      problems.push(`state '${state}' asks for a reason for '${outcome}', no outcome of it`);
  }
  return problems;
}

/** A local activity keeps its workflow task open, so a stage that takes longer must be an ordinary activity. */
const LONGEST_SHORT_MS = 10_000;

function stageProblems(row: StageRow): string[] {
  const { stage, backoff, progressWithin } = row;
  const spans = { within: row.within, beats: row.beats, progressWithin, first: backoff?.first, max: backoff?.max };
  const problems = Object.entries(spans).flatMap(([field, span]) =>
    span === undefined ? [] : timerProblems(`${stage}.${field}`, span),
  );
  if (!isCount(row.tries)) problems.push(`stage '${stage}' needs at least one try`);
  if (row.fanOut && (!isCount(row.fanOut.width) || row.fanOut.width > UNITS_PER_WINDOW)) {
    problems.push(`stage '${stage}' needs a width from 1 to ${UNITS_PER_WINDOW}, the units of a window`);
  }
  if (row.short && (row.beats ?? progressWithin ?? row.fanOut)) {
    problems.push(`stage '${stage}' is short, so it neither beats nor reports progress nor fans out`);
  }
  if (problems.length > 0) return problems;
  if (row.beats !== undefined && msOf(row.beats) < msOf(SHORTEST_BEATS))
    problems.push(
      `${stage}.beats is ${row.beats}; ${SHORTEST_BEATS} is the shortest that tells a frozen worker from one that waits`,
    );
  if (row.short && msOf(row.within) > LONGEST_SHORT_MS)
    problems.push(`stage '${stage}' is short, yet may take ${row.within}`);
  if (backoff && msOf(backoff.first) > msOf(backoff.max))
    problems.push(`stage '${stage}' waits longer at first than at most`);
  if (progressWithin && msOf(progressWithin) > msOf(row.within)) {
    problems.push(`stage '${stage}' may be silent for longer than it may take`);
  }
  return problems;
}

function isCount(number: number): boolean {
  return Number.isInteger(number) && number >= 1;
}

function spanProblems(field: string, span: string): string[] {
  if (!isSpan(span)) return [`${field} is '${span}', which is not a span of time such as 15s`];
  return msOf(span) > 0 ? [] : [`${field} must be longer than nothing`];
}

/** Node's timers overflow after 24.8 days and fire at once. */
const LONGEST_TIMER_MS = msOf('24d');

function timerProblems(field: string, span: string): string[] {
  const problems = spanProblems(field, span);
  if (problems.length === 0 && isSpan(span) && msOf(span) > LONGEST_TIMER_MS)
    problems.push(`${field} is longer than 24d`);
  return problems;
}
