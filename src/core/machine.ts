import { ERROR_CLASSES, type ErrorClass } from './error-class.js';
import type { AwaitsRow, DoesRow, EndsRow, Pipeline, RestsRow, StageRow, StateRow } from './pipeline.js';

/** One arrow of a pipeline's diagram. `via` says which kind of move takes it. */
export interface Edge {
  from: string;
  to: string;
  trigger: string;
  via: Via;
}
export type Via = 'outcome' | 'spent' | 'cancel' | 'exhaustion' | 'rescue' | 'reopen' | 'retry' | 'note' | Flagging;

/** Moves that change a flag of a live item and leave its state as it is. */
type Flagging = 'pause' | 'resume' | 'park' | 'reprioritize' | 'restart';

const FLAGGING: readonly Via[] = ['pause', 'resume', 'park', 'reprioritize', 'restart'] satisfies Flagging[];

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

/** Where an outcome leads, if the row names it. Outcomes also come from people and models, so inherited names such as
 *  `constructor` must not be found. */
export function targetOf(row: StateRow, outcome: string): string | undefined {
  return 'then' in row && Object.hasOwn(row.then, outcome) ? row.then[outcome] : undefined;
}

/** Where the first claim takes a resting item; undefined: a claim does not move it. */
export function claimedState(row: StateRow): string | undefined {
  return isRests(row) ? targetOf(row, 'claimed') : undefined;
}

/** Whether a run drives the item on in this state. It does not where the item waits for a person, an upload or a
 *  batch. */
function isDriven(row: StateRow): boolean {
  return isDoes(row) || claimedState(row) !== undefined;
}

interface Finished {
  state: string;
  stage: string;
  outcome: string;
}

export type After = { is: 'stage'; stage: StageRow } | { is: 'move'; state: string; trigger: string };

/** The step after a stage's outcome: the next stage of the same state, or a move. A stage that the state no longer has
 *  (the table was changed during its attempt) moves nothing: the state begins with its first stage, and the claim of a
 *  stage that is finished already says so. */
export function afterStage(pipeline: Pipeline, { state, stage, outcome }: Finished): After {
  const row = rowOf(pipeline, state);
  const stages = stagesIn(row);
  const at = stages.findIndex((each) => each.stage === stage);
  const next = stages[at + 1];
  if (next) return { is: 'stage', stage: next };
  const to = at === -1 ? undefined : targetOf(row, outcome);
  if (to === undefined) throw new RangeError(`'${outcome}' is not an outcome of '${stage}' in '${state}'`);
  return { is: 'move', state: to, trigger: triggerOf(row, stage, outcome) };
}

export function triggerOf(row: StateRow, by: string, outcome: string): string {
  return ('triggers' in row ? row.triggers?.[outcome] : undefined) ?? `${by}-${outcome}`;
}

export function spentTriggerOf({ stage, spent }: StageRow): string {
  return (typeof spent === 'object' ? spent.trigger : undefined) ?? `${stage}-failed`;
}

/** The fan-out stage to which the units that came with this outcome belong. */
export function fanOutFedBy(pipeline: Pipeline, finished: Finished): string | undefined {
  const row = rowOf(pipeline, finished.state);
  const isLast = stagesIn(row).at(-1)?.stage === finished.stage;
  if (isLast && targetOf(row, finished.outcome) === undefined) return undefined;
  const after = afterStage(pipeline, finished);
  const next = after.is === 'stage' ? after.stage : stagesIn(rowOf(pipeline, after.state))[0];
  return next?.fanOut ? next.stage : undefined;
}

/** The state of an item after its rescues are spent. The class of its last error may choose the state, but only among
 *  those that the item's present state leads to: an outage of a service may hand the item to a person, and must not let
 *  it skip a stage. */
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

/** The state that a rescue puts an item in. An item that waits for a person or an upload stays, or a file without bytes
 *  would be queued. */
export function rescuedState(pipeline: Pipeline, state: string): string {
  return isDriven(rowOf(pipeline, state)) ? (pipeline.rescue.resumesAt ?? state) : state;
}

/** The states from which a person may retry: the start, and the states that a run drives. A state that begins with a
 *  fan-out is left out, because a new visit has no units and would skip the fan-out. A state that may be full is left
 *  out, because a retry can't wait for a place. */
export function retryStates(pipeline: Pipeline): string[] {
  return (pipeline.retries ?? stateNamesOf(pipeline)).filter((state) => {
    const row = rowOf(pipeline, state);
    if (state === pipeline.start) return true;
    return isDriven(row) && !isLimited(row) && !stagesIn(row)[0]?.fanOut;
  });
}

/** Whether a stage of the pipeline runs inside the workflow task, as a local activity. */
export function hasShortStage(pipeline: Pipeline): boolean {
  return Object.values(pipeline.states).some((row) => stagesIn(row).some((each) => each.short));
}

export function isLimited(row: StateRow): boolean {
  return 'admits' in row && row.admits !== undefined;
}

const edgesByPipeline = new WeakMap<Pipeline, Edge[]>();

/** Every move that the table allows; `recordTransition` makes no other. */
export function edgesOf(pipeline: Pipeline): Edge[] {
  const known = edgesByPipeline.get(pipeline);
  if (known) return known;
  const edges = Object.entries(pipeline.states).flatMap(([from, row]) => edgesFrom(pipeline, from, row));
  edgesByPipeline.set(pipeline, edges);
  return edges;
}

/** Whether the table allows this move. A retry from a chosen state is no arrow of the diagram, because it begins a new
 *  visit. A pause, a resume and parking leave the state as it is, and a rescue may. A note records what was done about the item's
 *  run and changes nothing of the item, which may have ended. */
export function isLegalMove(pipeline: Pipeline, { from, to, via }: Pick<Edge, 'from' | 'to' | 'via'>): boolean {
  if (via === 'note') return from === to;
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

/** Who gives the outcome: the state's last stage, or a person. A claim is made by the stage that begins with it. */
function moverOf(pipeline: Pipeline, move: { from: string; row: StateRow; outcome: string; to: string }): string {
  const { from, row, outcome, to } = move;
  if (isAwaits(row)) return row.awaits;
  if (isDoes(row)) return stagesIn(row).at(-1)?.stage ?? from;
  const claimed = outcome === 'claimed' ? findRow(pipeline, to) : undefined;
  return (claimed && stagesIn(claimed)[0]?.stage) ?? from;
}

/** An item that waits for a person is not stuck, so it can be cancelled but not exhausted. */
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
