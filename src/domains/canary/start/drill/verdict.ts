/** One try at a task, ended or running. Every time here is the database's, in milliseconds. */
export interface AttemptSeen {
  visit: number;
  stage: string;
  unit: string;
  attempt: number;
  worker: string | null;
  startedAt: number;
  endedAt: number | null;
  result: 'running' | 'done' | 'error' | 'crash' | 'shutdown' | 'given_back' | 'superseded';
}

export interface EffectSeen {
  visit: number;
  stage: string;
  unit: string;
}

/** What was seen of one canary when the round was over. */
export interface ItemSeen {
  id: string;
  state: string;
  endedAt: number | null;
  attempts: readonly AttemptSeen[];
  effects: readonly EffectSeen[];
  /** The workers whose commits were refused. */
  refusedTo: readonly string[];
}

export type RoundKind = 'kill' | 'freeze' | 'freezeInCommit';

export interface Struck {
  worker: { id: string; name: string; pid: number };
  struckAt: number;
}

export interface RoundSeen extends Struck {
  kind: RoundKind;
  /** The item whose commit was told to freeze; null in the other rounds. */
  frozenItem: string | null;
  items: readonly ItemSeen[];
  /** The longest that any session was seen waiting for a lock. */
  lockWaitMs: number;
  /** When the watcher saw the worker's own lock gone; null: it did not. */
  goneSeenAt: number | null;
}

export interface Limits {
  elsewhereMs: number;
  lockWaitMs: number;
}

/** The stages of a canary without units, each of which leaves one effect. */
const STAGES = ['first', 'second', 'third'] as const;

export interface ItemVerdict {
  id: string;
  state: string;
  /** It was running on the worker that was struck. */
  isHit: boolean;
  seenAfterMs: number | null;
  /** presence: by the worker's lock; heartbeat: by Temporal, which missed a beat. Null: it was not hit, or not seen. */
  seenBy: 'presence' | 'heartbeat' | null;
  elsewhereAfterMs: number | null;
  doneAfterMs: number | null;
  runAgain: string[];
  /** Stages that had been committed and were run once more. */
  finishedRunAgain: string[];
  doubled: string[];
  missing: string[];
  refused: number;
  problems: string[];
}

export interface RoundVerdict {
  kind: RoundKind;
  worker: RoundSeen['worker'];
  lockWaitMs: number;
  items: ItemVerdict[];
  problems: string[];
}

export function roundVerdict(seen: RoundSeen, limits: Limits): RoundVerdict {
  const items = seen.items.map((item) => itemVerdict(item, seen, limits));
  const { kind, worker, lockWaitMs } = seen;
  const problems = [...items.flatMap((item) => item.problems), ...roundProblems(seen, items, limits)];
  return { kind, worker, lockWaitMs, items, problems };
}

function itemVerdict(item: ItemSeen, seen: RoundSeen, limits: Limits): ItemVerdict {
  const lost = item.attempts.filter((attempt) => isLost(attempt, seen));
  const isDone = item.state === 'DONE' && item.endedAt !== null;
  const elsewhereAfterMs = latest(
    lost.map((attempt) => since(seen, successorOf(attempt, item, seen)?.startedAt ?? null)),
  );
  const verdict: ItemVerdict = {
    id: item.id,
    state: item.state,
    isHit: lost.length > 0,
    ...howSeen(lost, seen, elsewhereAfterMs),
    elsewhereAfterMs,
    doneAfterMs: isDone ? since(seen, item.endedAt) : null,
    runAgain: distinct(item.attempts.filter(({ attempt }) => attempt > 1).map(nameOf)),
    finishedRunAgain: distinct(item.attempts.filter((attempt) => wasFinished(attempt, item)).map(nameOf)),
    doubled: distinct(item.effects.map(nameOf).filter((name, at, all) => all.indexOf(name) !== at)),
    missing: STAGES.filter((stage) => !item.effects.some((effect) => effect.stage === stage)),
    refused: item.refusedTo.filter((worker) => worker === seen.worker.id).length,
    problems: [],
  };
  return { ...verdict, problems: itemProblems(verdict, limits) };
}

/** What the watcher saw only after the work ran elsewhere was seen by Temporal first; a claim that finds the lost attempt says
 *  when. */
function howSeen(
  lost: readonly AttemptSeen[],
  seen: RoundSeen,
  elsewhereAfterMs: number | null,
): Pick<ItemVerdict, 'seenAfterMs' | 'seenBy'> {
  const goneAfterMs = since(seen, seen.goneSeenAt);
  if (lost.length > 0 && goneAfterMs !== null && goneAfterMs <= (elsewhereAfterMs ?? Infinity)) {
    return { seenAfterMs: goneAfterMs, seenBy: 'presence' };
  }
  const seenAfterMs = latest(lost.map((attempt) => since(seen, attempt.endedAt)));
  return { seenAfterMs, seenBy: seenAfterMs === null ? null : 'heartbeat' };
}

/** Held by the struck worker and never ended by it; a commit that was on its way just then is none. */
export function isLost(attempt: AttemptSeen, { worker, struckAt }: Struck): boolean {
  if (attempt.worker !== worker.id || attempt.startedAt > struckAt) return false;
  return attempt.result === 'crash' || attempt.result === 'running';
}

function successorOf(lost: AttemptSeen, item: ItemSeen, { worker }: Struck): AttemptSeen | undefined {
  return item.attempts
    .filter((each) => isSameTask(each, lost) && each.attempt > lost.attempt && each.worker !== worker.id)
    .toSorted((one, other) => one.attempt - other.attempt)[0];
}

function wasFinished(attempt: AttemptSeen, item: ItemSeen): boolean {
  return item.attempts.some(
    (each) => isSameTask(each, attempt) && each.result === 'done' && each.attempt < attempt.attempt,
  );
}

function itemProblems(verdict: ItemVerdict, { elsewhereMs }: Limits): string[] {
  const { id, state, isHit, doneAfterMs, elsewhereAfterMs, finishedRunAgain, doubled, missing } = verdict;
  const problems: string[] = [];
  if (doneAfterMs === null) problems.push(`${id} is not done: it is in ${state}`);
  else if (missing.length > 0) problems.push(`${id} is done without the effect of ${missing.join(', ')}`);
  if (doubled.length > 0) problems.push(`${id} has more than one effect of ${doubled.join(', ')}`);
  if (finishedRunAgain.length > 0)
    problems.push(`${id} ran ${finishedRunAgain.join(', ')} again after it was finished`);
  if (isHit && elsewhereAfterMs === null) problems.push(`${id} was never run elsewhere`);
  if (elsewhereAfterMs !== null && elsewhereAfterMs > elsewhereMs) {
    problems.push(
      `${id} ran elsewhere after ${secondsOf(elsewhereAfterMs)} only; ${secondsOf(elsewhereMs)} is the limit`,
    );
  }
  return problems;
}

function roundProblems(seen: RoundSeen, items: ItemVerdict[], limits: Limits): string[] {
  const { kind, worker, frozenItem, lockWaitMs } = seen;
  const problems: string[] = [];
  if (!items.some((item) => item.isHit)) {
    problems.push(`${worker.name} ran none of the canaries when it was struck, so nothing is proved; raise --stage-ms`);
  }
  if (kind === 'kill') return problems;
  // One told to freeze in its commit has no way but through it; of the others one at least must try.
  const zombies = items.filter((item) => item.isHit && (frozenItem === null || item.id === frozenItem));
  if (!zombies.some((item) => item.refused > 0)) {
    problems.push(`no refused commit of ${worker.name} was counted after it woke up`);
  }
  if (lockWaitMs > limits.lockWaitMs) {
    problems.push(`a session waited ${secondsOf(lockWaitMs)} for a lock; ${secondsOf(limits.lockWaitMs)} is the limit`);
  }
  return problems;
}

export function secondsOf(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

function since({ struckAt }: Struck, at: number | null): number | null {
  return at === null ? null : Math.round(at - struckAt);
}

/** Null where one is not known: unknown is not zero. */
function latest(times: readonly (number | null)[]): number | null {
  const known = times.filter((each) => each !== null);
  return times.length > 0 && known.length === times.length ? Math.max(...known) : null;
}

function isSameTask(one: EffectSeen, other: EffectSeen): boolean {
  return one.visit === other.visit && one.stage === other.stage && one.unit === other.unit;
}

function nameOf({ visit, stage, unit }: EffectSeen): string {
  return [stage, unit, visit > 1 ? `visit ${visit}` : ''].filter(Boolean).join(' ');
}

function distinct(names: string[]): string[] {
  return [...new Set(names)];
}
