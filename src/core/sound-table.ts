import {
  claimedState,
  type Edge,
  edgesOf,
  findRow,
  isAwaits,
  isDoes,
  isEnd,
  isLimited,
  rescuedState,
  retryStates,
  stagesIn,
  stateNamesOf,
} from './machine.js';
import type { Pipeline, StageRow, StateRow } from './pipeline.js';
import { rowProblems } from './sound-row.js';

/** Refuses a table that would strand or loop an item. It runs when the table's module loads, so a bad table never
 *  starts. */
export function assertSoundTable(pipeline: Pipeline): void {
  const problems = tableProblemsIn(pipeline);
  if (problems.length > 0) throw new TypeError(`pipeline '${pipeline.name}': ${problems.join('; ')}`);
}

/** Everything that is wrong with a table, each once. */
export function tableProblemsIn(pipeline: Pipeline): string[] {
  const problems = new Set([
    ...unknownStates(pipeline),
    ...rowProblems(pipeline),
    ...doubledStages(pipeline),
    ...missingDone(pipeline),
    ...unfedFanOuts(pipeline),
    ...wrongClaims(pipeline),
    ...wrongEntrances(pipeline),
    ...wrongRetries(pipeline),
    ...crowdedStates(pipeline),
    ...loops(pipeline),
    ...deadEnds(pipeline),
    ...leaps(pipeline),
  ]);
  return [...problems];
}

interface Entrance {
  to: string;
  /** The entrance's name in the table. */
  as: string;
}

/** Every way into a state that is not an outcome. Such a move brings no units with it, and it can't wait for a
 *  place. */
function entrancesOf(pipeline: Pipeline): Entrance[] {
  const { exhausted, resumesAt } = pipeline.rescue;
  const exhaustedStates = typeof exhausted === 'string' ? [exhausted] : Object.values(exhausted);
  const spent = Object.values(pipeline.states).flatMap((row) =>
    stagesIn(row).flatMap((each) => (typeof each.spent === 'object' ? [each.spent.move] : [])),
  );
  const reopened = Object.values(pipeline.states).flatMap((row) => (isEnd(row) && row.reopens ? [row.reopens] : []));
  return [
    { to: pipeline.start, as: 'start' },
    { to: pipeline.cancelled, as: 'cancelled' },
    ...exhaustedStates.map((to) => ({ to, as: 'exhausted' })),
    ...(resumesAt ? [{ to: resumesAt, as: 'resumesAt' }] : []),
    ...spent.map((to) => ({ to, as: 'spent' })),
    ...reopened.map((to) => ({ to, as: 'reopens' })),
  ];
}

function unknownStates(pipeline: Pipeline): string[] {
  const named = [...entrancesOf(pipeline).map((each) => each.to), ...edgesOf(pipeline).map((edge) => edge.to)];
  return [...new Set(named)].filter((state) => !findRow(pipeline, state)).map((state) => `no state '${state}'`);
}

function doubledStages(pipeline: Pipeline): string[] {
  const names = Object.values(pipeline.states).flatMap((row) => stagesIn(row).map((each) => each.stage));
  const doubled = names.filter((name, at) => names.indexOf(name) !== at);
  return [...new Set(doubled)].map((name) => `stage '${name}' stands in two places`);
}

function missingDone(pipeline: Pipeline): string[] {
  return Object.entries(pipeline.states).flatMap(([state, row]) => {
    const last = stagesIn(row).at(-1);
    const goesOnAsDone = last?.spent === 'skip' || last?.fanOut !== undefined;
    if (!last || !goesOnAsDone || ('then' in row && Object.hasOwn(row.then, 'done'))) return [];
    return [`state '${state}' needs an outcome 'done', which its last stage '${last.stage}' goes on with`];
  });
}

/** A fan-out without units is done at once. So the step before it must be a stage that returns units: not a decision, a
 *  rest or another fan-out, and not a stage that may be skipped. */
function unfedFanOuts(pipeline: Pipeline): string[] {
  return Object.entries(pipeline.states).flatMap(([state, row]) =>
    stagesIn(row).flatMap((each, at) => {
      if (!each.fanOut) return [];
      const isFed = at === 0 ? isFedFromOutside(pipeline, state) : feeds(stagesIn(row)[at - 1], 'done');
      return isFed ? [] : [`fan-out '${each.stage}' has no stage before it that always returns its units`];
    }),
  );
}

function isFedFromOutside(pipeline: Pipeline, state: string): boolean {
  if (entrancesOf(pipeline).some((each) => each.to === state)) return false;
  const ways = Object.values(pipeline.states).flatMap((row) =>
    Object.entries('then' in row ? row.then : {})
      .filter(([, to]) => to === state)
      .map(([outcome]) => feeds(stagesIn(row).at(-1), outcome)),
  );
  return ways.length > 0 && !ways.includes(false);
}

function feeds(stage: StageRow | undefined, outcome: string): boolean {
  if (!stage || stage.fanOut) return false;
  return stage.spent !== 'skip' || outcome !== 'done';
}

/** A stage makes the claim, so the target state must begin with a stage that can be claimed. */
function wrongClaims(pipeline: Pipeline): string[] {
  return Object.entries(pipeline.states).flatMap(([state, row]) => {
    const claimed = claimedState(row);
    const target = claimed === undefined ? undefined : findRow(pipeline, claimed);
    if (!target || (stagesIn(target)[0] && !stagesIn(target)[0]?.fanOut)) return [];
    return [`'${state}' is left by a claim, but '${String(claimed)}' begins with no stage that could make it`];
  });
}

/** The API offers the states of `retries`, so work must be able to begin in each of them. */
function wrongRetries(pipeline: Pipeline): string[] {
  const possible = retryStates({ ...pipeline, retries: stateNamesOf(pipeline) });
  const wrong = (pipeline.retries ?? []).filter((state) => !possible.includes(state));
  return wrong.map((state) => `work can't begin anew in '${state}', which 'retries' names`);
}

function wrongEntrances(pipeline: Pipeline): string[] {
  const rules: Record<string, (row: StateRow) => boolean> = {
    start: (row) => !isEnd(row),
    cancelled: isEnd,
    // In a working state the item would be exhausted again, and for ever.
    exhausted: (row) => isEnd(row) || isAwaits(row),
    resumesAt: (row) => !isEnd(row) && !isAwaits(row),
    reopens: (row) => !isEnd(row),
  };
  return entrancesOf(pipeline).flatMap(({ to, as }) => {
    const row = findRow(pipeline, to);
    const isRight = rules[as];
    return row && isRight && !isRight(row) ? [`${as} must not lead to '${to}', which ${verbOf(row)}`] : [];
  });
}

function verbOf(row: StateRow): string {
  if (isEnd(row)) return 'ends';
  if (isAwaits(row)) return 'awaits a person';
  return isDoes(row) ? 'does work' : 'rests';
}

/** An item that is not admitted stays in its state. After a stage's outcome or before a claim it can wait there; after
 *  these moves it can't. */
function crowdedStates(pipeline: Pipeline): string[] {
  const decided = Object.entries(pipeline.states).flatMap(([state, row]) =>
    isAwaits(row) ? Object.values(row.then).map((to) => ({ to, as: `a decision in '${state}'` })) : [],
  );
  return [...entrancesOf(pipeline), ...decided].flatMap(({ to, as }) => {
    const row = findRow(pipeline, to);
    return row && isLimited(row) ? [`${as} must not lead to '${to}', which may be full`] : [];
  });
}

/** Within a visit no path may come back to a state. A retry begins a new visit, and a rescue is a recovery move. */
function loops(pipeline: Pipeline): string[] {
  const done = new Set<string>();
  const path: string[] = [];
  const problems: string[] = [];
  function walk(state: string): void {
    if (path.includes(state)) problems.push(`loop ${[...path.slice(path.indexOf(state)), state].join(' → ')}`);
    if (path.includes(state) || done.has(state)) return;
    path.push(state);
    for (const edge of edgesOf(pipeline)) if (edge.from === state && isForward(edge)) walk(edge.to);
    path.pop();
    done.add(state);
  }
  for (const state of stateNamesOf(pipeline)) walk(state);
  return problems;
}

function isForward(edge: Edge): boolean {
  return edge.via === 'outcome' || edge.via === 'spent';
}

function reachedFrom(pipeline: Pipeline, start: string, isTaken: (edge: Edge) => boolean): Set<string> {
  const reached = new Set([start]);
  for (const state of reached) {
    for (const edge of edgesOf(pipeline)) if (edge.from === state && isTaken(edge)) reached.add(edge.to);
  }
  return reached;
}

function deadEnds(pipeline: Pipeline): string[] {
  const reached = reachedFrom(pipeline, pipeline.start, () => true);
  const unreached = stateNamesOf(pipeline)
    .filter((state) => !reached.has(state))
    .map((state) => `nothing leads to '${state}'`);
  const stranded = Object.entries(pipeline.states)
    .filter(([, row]) => 'then' in row && Object.keys(row.then).length === 0)
    .map(([state]) => `nothing leads out of '${state}'`);
  return [...unreached, ...stranded];
}

/** A rescue takes the item back or leaves it in its state. A rescue forward would leave work out. */
function leaps(pipeline: Pipeline): string[] {
  const { resumesAt } = pipeline.rescue;
  if (resumesAt === undefined) return [];
  const after = reachedFrom(pipeline, resumesAt, isForward);
  return stateNamesOf(pipeline)
    .filter((state) => !after.has(state) && rescuedState(pipeline, state) !== state)
    .map((state) => `a rescue would leap from '${state}' to '${resumesAt}'`);
}
