import { ERROR_CLASSES, type ErrorClass } from './error-class.js';
import type { AwaitsRow, DoesRow, EndsRow, Pipeline, RestsRow, StageRow, StateRow } from './pipeline.js';

/** One arrow of a pipeline's diagram. `via` says what takes it. */
export interface Edge {
  from: string;
  to: string;
  trigger: string;
  via: Via;
}
export type Via = 'outcome' | 'spent' | 'cancel' | 'exhaustion' | 'rescue' | 'reopen' | 'retry' | Flagging;

/** Changes a flag of a live item; its state stays. */
type Flagging = 'pause' | 'resume' | 'park' | 'reprioritize';

const FLAGGING: readonly Via[] = ['pause', 'resume', 'park', 'reprioritize'] satisfies Flagging[];

export function isDoes(row: StateRow): row is DoesRow {
  return 'does' in row;
}
export function isAwaits(row: StateRow): row is AwaitsRow {
  return 'awaits' in row;
}
export function isRests(row: StateRow): row is RestsRow {
  return 'rests' in row;
}
export function isEnd(row: StateRow): row is EndsRow {
  return 'ends' in row;
}

export function stateNamesOf(pipeline: Pipeline): string[] {
  return Object.keys(pipeline.states);
}

export function findRow(pipeline: Pipeline, state: string): StateRow | undefined {
  return Object.hasOwn(pipeline.states, state) ? pipeline.states[state] : undefined;
}

export function rowOf(pipeline: Pipeline, state: string): StateRow {
  const row = findRow(pipeline, state);
  if (!row) throw new RangeError(`pipeline '${pipeline.name}' has no state '${state}'`);
  return row;
}

export function stagesIn(row: StateRow): readonly StageRow[] {
  if (!isDoes(row)) return [];
  return 'stage' in row.does ? [row.does] : row.does;
}

export function findStage(pipeline: Pipeline, name: string): { state: string; row: StageRow } | undefined {
  for (const [state, row] of Object.entries(pipeline.states)) {
    const found = stagesIn(row).find((each) => each.stage === name);
    if (found) return { state, row: found };
  }
  return undefined;
}

export function stageOf(pipeline: Pipeline, name: string): { state: string; row: StageRow } {
  const found = findStage(pipeline, name);
  if (!found) throw new RangeError(`pipeline '${pipeline.name}' has no stage '${name}'`);
  return found;
}

/** Where an outcome leads, if the row names it. Outcomes come from people and models too: `constructor` is not one. */
export function targetOf(row: StateRow, outcome: string): string | undefined {
  return 'then' in row && Object.hasOwn(row.then, outcome) ? row.then[outcome] : undefined;
}

/** Where the first claim takes an item that rests, if a claim is what moves it. */
export function claimedState(row: StateRow): string | undefined {
  return isRests(row) ? targetOf(row, 'claimed') : undefined;
}

/** Whether a run drives the item on by itself here: not where it waits for a person, an upload or a batch. */
function isDriven(row: StateRow): boolean {
  return isDoes(row) || claimedState(row) !== undefined;
}

interface Finished {
  state: string;
  stage: string;
  outcome: string;
}

export type After = { goes: 'on'; stage: StageRow } | { goes: 'to'; state: string; trigger: string };

/** What follows a stage's outcome: the next stage of the same state, or a move. A stage that the state no longer has (the
 *  table was changed under its attempt) moves nothing: the state begins with its first stage, and a finished one is known
 *  as such by its claim. */
export function afterStage(pipeline: Pipeline, { state, stage, outcome }: Finished): After {
  const row = rowOf(pipeline, state);
  const stages = stagesIn(row);
  const at = stages.findIndex((each) => each.stage === stage);
  const next = stages[at + 1];
  if (next) return { goes: 'on', stage: next };
  const to = at === -1 ? undefined : targetOf(row, outcome);
  if (to === undefined) throw new RangeError(`'${outcome}' is not an outcome of '${stage}' in '${state}'`);
  return { goes: 'to', state: to, trigger: triggerOf(row, stage, outcome) };
}

export function triggerOf(row: StateRow, by: string, outcome: string): string {
  return ('triggers' in row ? row.triggers?.[outcome] : undefined) ?? `${by}-${outcome}`;
}

export function spentTriggerOf({ stage, spent }: StageRow): string {
  return (typeof spent === 'object' ? spent.trigger : undefined) ?? `${stage}-failed`;
}

/** The fan-out stage that the units returned with this outcome belong to. */
export function fanOutFedBy(pipeline: Pipeline, finished: Finished): string | undefined {
  const row = rowOf(pipeline, finished.state);
  const isLast = stagesIn(row).at(-1)?.stage === finished.stage;
  if (isLast && targetOf(row, finished.outcome) === undefined) return undefined;
  const after = afterStage(pipeline, finished);
  const next = after.goes === 'on' ? after.stage : stagesIn(rowOf(pipeline, after.state))[0];
  return next?.fanOut ? next.stage : undefined;
}

/** Where an item goes that nothing gets moving again. Its last error may send it elsewhere than others, but only to where its
 *  state leads anyway: an outage of the judge asks a person, and lets nobody skip what comes before the judge. */
export function exhaustedState(pipeline: Pipeline, state: string, lastError: ErrorClass | null): string {
  const { exhausted } = pipeline.rescue;
  if (typeof exhausted === 'string') return exhausted;
  return exhaustedByClass(pipeline, state, lastError) ?? exhausted.other;
}

export function exhaustedTrigger(pipeline: Pipeline, state: string, lastError: ErrorClass | null): string {
  const byClass = exhaustedByClass(pipeline, state, lastError) === undefined ? null : lastError;
  return (byClass && pipeline.rescue.triggers?.[byClass]) ?? 'stuck-exhausted';
}

function exhaustedByClass(pipeline: Pipeline, state: string, lastError: ErrorClass | null): string | undefined {
  const { exhausted } = pipeline.rescue;
  const to = lastError && typeof exhausted === 'object' ? exhausted[lastError] : undefined;
  const row = rowOf(pipeline, state);
  return to !== undefined && 'then' in row && Object.values(row.then).includes(to) ? to : undefined;
}

/** Where a rescue puts an item: what waits for somebody else stays, or a file without bytes would be queued. */
export function rescuedState(pipeline: Pipeline, state: string): string {
  return isDriven(rowOf(pipeline, state)) ? (pipeline.rescue.resumesAt ?? state) : state;
}

/** The states a person may begin a retry from: the start, and those that a run drives. Not one that begins with a fan-out,
 *  for a new visit has no units and would pass it by; not one that may be full, for a retry can't wait: it begins before. */
export function retryStates(pipeline: Pipeline): string[] {
  return (pipeline.retries ?? stateNamesOf(pipeline)).filter((state) => {
    const row = rowOf(pipeline, state);
    if (state === pipeline.start) return true;
    return isDriven(row) && !isLimited(row) && !stagesIn(row)[0]?.fanOut;
  });
}

/** Whether one of its stages runs inside the workflow task, as a local activity. */
export function hasShortStage(pipeline: Pipeline): boolean {
  return Object.values(pipeline.states).some((row) => stagesIn(row).some((each) => each.short));
}

export function isLimited(row: StateRow): boolean {
  return 'admits' in row && row.admits !== undefined;
}

const edgesByPipeline = new WeakMap<Pipeline, Edge[]>();

/** Every move the table allows; `recordTransition` makes no other. */
export function edgesOf(pipeline: Pipeline): Edge[] {
  const known = edgesByPipeline.get(pipeline);
  if (known) return known;
  const edges = Object.entries(pipeline.states).flatMap(([from, row]) => edgesFrom(pipeline, from, row));
  edgesByPipeline.set(pipeline, edges);
  return edges;
}

/** Whether the table allows this move. A retry from a chosen state is no arrow of the diagram: it begins a new visit; a
 *  pause, a resume and parking stay where they are, and so may a rescue. */
export function isLegalMove(pipeline: Pipeline, { from, to, via }: Pick<Edge, 'from' | 'to' | 'via'>): boolean {
  const row = rowOf(pipeline, from);
  if (via === 'retry') return retryStates(pipeline).includes(to) && isRetryable(row);
  if (FLAGGING.includes(via)) return from === to && !isEnd(row);
  if (via === 'rescue') return to === rescuedState(pipeline, from) && !isEnd(row);
  return edgesOf(pipeline).some((edge) => edge.from === from && edge.to === to && edge.via === via);
}

function isRetryable(row: StateRow): boolean {
  return !isEnd(row) || row.reopens !== undefined;
}

function edgesFrom(pipeline: Pipeline, from: string, row: StateRow): Edge[] {
  if (isEnd(row)) return row.reopens ? [{ from, to: row.reopens, trigger: 'retry', via: 'reopen' }] : [];
  const outcomes = Object.entries(row.then).map(([outcome, to]): Edge => {
    const by = moverOf(pipeline, { from, row, outcome, to });
    return { from, to, trigger: triggerOf(row, by, outcome), via: 'outcome' };
  });
  const spent = stagesIn(row).flatMap((each): Edge[] =>
    typeof each.spent === 'object' ? [{ from, to: each.spent.move, trigger: spentTriggerOf(each), via: 'spent' }] : [],
  );
  return [...outcomes, ...spent, ...recoveryEdges(pipeline, from, row)];
}

/** Whose outcome it is: the last stage's, a person's; a claim is made by the stage that begins with it. */
function moverOf(pipeline: Pipeline, move: { from: string; row: StateRow; outcome: string; to: string }): string {
  const { from, row, outcome, to } = move;
  if (isAwaits(row)) return row.awaits;
  if (isDoes(row)) return stagesIn(row).at(-1)?.stage ?? from;
  const claimed = outcome === 'claimed' ? findRow(pipeline, to) : undefined;
  return (claimed && stagesIn(claimed)[0]?.stage) ?? from;
}

/** Nobody is stuck who waits for a person, so nothing is exhausted there; it can be cancelled. */
function recoveryEdges(pipeline: Pipeline, from: string, row: StateRow): Edge[] {
  const exhaustion = new Map<string, Edge>();
  for (const lastError of isAwaits(row) ? [] : [null, ...ERROR_CLASSES]) {
    const to = exhaustedState(pipeline, from, lastError);
    const trigger = exhaustedTrigger(pipeline, from, lastError);
    exhaustion.set(`${to} ${trigger}`, { from, to, trigger, via: 'exhaustion' });
  }
  const { resumesAt } = pipeline.rescue;
  return [
    { from, to: pipeline.cancelled, trigger: 'cancelled', via: 'cancel' },
    ...exhaustion.values(),
    ...(resumesAt && isDriven(row) ? [{ from, to: resumesAt, trigger: 'rescue', via: 'rescue' } as const] : []),
  ];
}
