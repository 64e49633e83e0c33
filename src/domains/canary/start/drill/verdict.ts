/** One attempt at a task, ended or running. All times in this file are the database's, in milliseconds. */
export interface AttemptSeen {
  visit: number;
  stage: string;
  unit: string;
  attempt: number;
  worker: string | null;
  startedAt: number;
  endedAt: number | null;
  result: 'running' | 'done' | 'error' | 'unbegun' | 'crash' | 'shutdown' | 'given_back' | 'superseded';
}

export interface EffectSeen {
  visit: number;
  stage: string;
  unit: string;
}

/** The facts of one canary after the round. */
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
  /** The item whose commit froze its worker. Null in rounds of another kind. */
  frozenItem: string | null;
  items: readonly ItemSeen[];
  /** The longest time that a session was seen waiting for a lock. */
  lockWaitMs: number;
  /** When the watcher saw that the worker's lock was gone. Null: it did not see that. */
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
  /** The item was running on the worker that was struck. */
  isHit: boolean;
  seenAfterMs: number | null;
  /** presence: the watcher missed the worker's lock. heartbeat: Temporal missed a beat. Null: the item was not hit, or
   *  the loss was not seen. */
  seenBy: 'presence' | 'heartbeat' | null;
  elsewhereAfterMs: number | null;
  doneAfterMs: number | null;
  runAgain: string[];
  /** Stages that ran again although they had been committed. */
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
  const elsewhereAfterMs = latestOf(
    lost.map((attempt) => msSince(seen, successorOf(attempt, item, seen)?.startedAt ?? null)),
  );
  const verdict: ItemVerdict = {
    id: item.id,
    state: item.state,
    isHit: lost.length > 0,
    ...detectionOf(lost, seen, elsewhereAfterMs),
    elsewhereAfterMs,
    doneAfterMs: isDone ? msSince(seen, item.endedAt) : null,
    runAgain: distinct(item.attempts.filter(({ attempt }) => attempt > 1).map(nameOf)),
    finishedRunAgain: distinct(item.attempts.filter((attempt) => wasFinished(attempt, item)).map(nameOf)),
    doubled: distinct(item.effects.map(nameOf).filter((name, at, all) => all.indexOf(name) !== at)),
    missing: STAGES.filter((stage) => !item.effects.some((effect) => effect.stage === stage)),
    refused: item.refusedTo.filter((worker) => worker === seen.worker.id).length,
    problems: [],
  };
  return { ...verdict, problems: itemProblems(verdict, limits) };
}

/** If the watcher saw the loss only after the work ran elsewhere, Temporal saw it first. The time is then the end of
 *  the lost attempt, which the next claim writes. */
function detectionOf(
  lost: readonly AttemptSeen[],
  seen: RoundSeen,
  elsewhereAfterMs: number | null,
): Pick<ItemVerdict, 'seenAfterMs' | 'seenBy'> {
  const goneAfterMs = msSince(seen, seen.goneSeenAt);
  if (lost.length > 0 && goneAfterMs !== null && goneAfterMs <= (elsewhereAfterMs ?? Infinity)) {
    return { seenAfterMs: goneAfterMs, seenBy: 'presence' };
  }
  const seenAfterMs = latestOf(lost.map((attempt) => msSince(seen, attempt.endedAt)));
  return { seenAfterMs, seenBy: seenAfterMs === null ? null : 'heartbeat' };
}

/** Whether the struck worker held the attempt and never ended it. An attempt whose commit was on its way at that moment
 *  is not lost. */
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
  // The item that froze in its commit must be refused, because its worker wakes inside that commit. Of the other items,
  // at least one must be refused.
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

function msSince({ struckAt }: Struck, at: number | null): number | null {
  return at === null ? null : Math.round(at - struckAt);
}

/** Null if one of the times is not known, because unknown is not zero. */
function latestOf(times: readonly (number | null)[]): number | null {
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
