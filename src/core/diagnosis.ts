import { beatsMsOf } from './attempt-life.js';
import { isAwaits, isRests } from './machine.js';
import type { Pipeline } from './pipeline.js';
import { type SweepVerdict, sweepVerdict } from './rescue-budget.js';
import { sayBacklog, sayNoWorker } from './diagnosis-queue.js';
import { sayEngineUnreachable, sayRescueWait, sayStartLost, sayWedged, sayWorkflowClosed } from './diagnosis-run.js';
import {
  sayBreakerOpen,
  sayRetrying,
  sayRunning,
  saySilentWorker,
  saySuspectWait,
  sayWorkerDied,
} from './diagnosis-work.js';
import {
  sayAwaitingDecision,
  sayFinished,
  sayParked,
  sayPaused,
  sayResting,
  sayStartNotDue,
} from './diagnosis-rest.js';

/** A suspect that found no place asks again after four seconds at most. A busy worker may take some seconds more. */
const ASKS_WITHIN_MS = 10_000;

/** Why an item is in its state. The API, the sweep, metrics and the console all use this list. */
export const REASONS = [
  'running',
  'start_lost',
  'backlog',
  'no_worker',
  'retrying',
  'silent_worker',
  'worker_died',
  'workflow_closed',
  'wedged',
  'rescue_wait',
  'awaiting_decision',
  'paused',
  'breaker_open',
  'suspect_wait',
  'not_due',
  'awaiting_upload',
  'parked',
  'engine_unreachable',
  'finished',
] as const;
export type Reason = (typeof REASONS)[number];

export type Evidence = Readonly<Record<string, string | number | boolean | null>>;

export interface Diagnosis {
  reason: Reason;
  sentence: string;
  evidence: Evidence;
  /** Says which step comes by itself, or which step a person must take. */
  nextAction: string;
  /** When that step comes; null: not known, or up to a person. */
  nextAt: Date | null;
}

/** The columns of an item's row that tell why the item does not move. */
export interface ItemFacts {
  pipeline: string;
  state: string;
  beatAt: Date;
  started: boolean;
  startAfter: Date | null;
  startTries: number;
  /** When the engine accepted the start, if the dispatcher had to ask for it. */
  acceptedAt: Date | null;
  runEndedAt: Date | null;
  rescues: number;
  lastRescueAt: Date | null;
  nextRescueAfter: Date | null;
  pausedUntil: Date | 'infinity' | null;
  pauseReason: string | null;
  parkedAt: Date | null;
  parkedWhy: string | null;
  endedAt: Date | null;
  endReason: string | null;
}

export interface RunningTask {
  stage: string;
  unit: string;
  attempt: number;
  worker: string | null;
  startedAt: Date;
  beatAt: Date;
  /** When a watcher saw that the worker was gone; null: no watcher did. */
  workerGoneAt: Date | null;
}

export interface WaitingTask {
  stage: string;
  unit: string;
  attempt: number;
  crashes: number;
  /** Since when a suspect has asked in vain for a process of its own; null: it has not, or it is no suspect. */
  placeAskedAt: Date | null;
  /** How many other suspects have waited longer than that; null: this one does not wait. */
  askedBefore: number | null;
  retryAt: Date | null;
  error: { class: string; message: string } | null;
}

export interface Hold {
  kind: 'pause' | 'breaker';
  /** The error class of a breaker. */
  key: string;
  until: Date | 'infinity';
  reason: string;
}

export interface Facts {
  /** By the database's clock, like every other time here. */
  now: Date;
  item: ItemFacts;
  /** Undefined: this version of the program does not know the item's pipeline. */
  pipeline: Pipeline | undefined;
  /** The running task that gave the latest sign of life. */
  running: RunningTask | null;
  /** The waiting task that is due first. */
  waiting: WaitingTask | null;
  hold: Hold | null;
  /** Temporal's answer about the run; undefined: Temporal was not asked. */
  engine?: 'alive' | 'gone' | 'unknown';
  /** How the run ended, if it is gone; `never_existed`: Temporal has never heard of the run, or has forgotten it. */
  closedAs?: string;
  /** The failure that a live run meets again and again. */
  wedgedBy?: string;
  /** Living workers that ask the pipeline's task queue for work. */
  pollers?: number;
  /** Tasks of all items that wait in that task queue; null: not known. */
  backlog?: number | null;
  /** Why the pipeline is not swept, for example because its schedule is paused; undefined: it is swept, or nobody
   *  asked. */
  unswept?: string;
}

/** The last time the item moved or beat. A unit's beat is written to its task alone. */
export function lastSignOf({ item, running }: Pick<Facts, 'item' | 'running'>): Date {
  return running && running.beatAt > item.beatAt ? running.beatAt : item.beatAt;
}

/** Whether Temporal lost the run: the row saw it begin and never saw it end. That is not the item's fault. */
export function isLostByEngine({ item, closedAs }: Pick<Facts, 'item' | 'closedAs'>): boolean {
  return item.started && item.runEndedAt === null && closedAs === 'never_existed';
}

/** Whether a hold of its pipeline stops the item at this moment. A breaker whose next place is free does not hold an
 *  item whose run is gone: without a new run, no claim of the item would ever come for that place. */
export function isHeld({ hold, now }: Pick<Facts, 'hold' | 'now'>): boolean {
  return hold !== null && (hold.kind === 'pause' || hold.until === 'infinity' || hold.until > now);
}

/** Names the first cause that keeps the item in its state. Causes that a person or the clock ends come before causes
 *  that only a worker ends. Causes that the row shows come before causes for which Temporal must be asked. */
export function diagnose(facts: Facts): Diagnosis {
  return (
    diagnoseRest(facts) ??
    diagnoseStart(facts) ??
    diagnoseRun(facts) ??
    diagnoseWork(facts) ??
    diagnoseHold(facts) ??
    diagnoseQueue(facts)
  );
}

function diagnoseRest({ item, now, pipeline }: Facts): Diagnosis | null {
  const row = pipeline?.states[item.state];
  if (item.endedAt) return sayFinished(item, item.endedAt, now);
  if (item.parkedAt) return sayParked(item, item.parkedAt, now);
  if (item.pausedUntil === 'infinity' || isAhead(item.pausedUntil, now)) {
    return sayPaused('It', item.pausedUntil, item.pauseReason);
  }
  if (row && isAwaits(row)) return sayAwaitingDecision(item, row.awaits, Object.keys(row.then));
  if (row && isRests(row) && !item.started && item.startAfter === null) return sayResting(item, row.rests);
  return null;
}

function diagnoseStart(facts: Facts): Diagnosis | null {
  const { item, now, engine, wedgedBy } = facts;
  if (item.started || wasClosed(facts)) return null;
  if (wedgedBy !== undefined) return sayWedged(item, wedgedBy);
  const held = diagnosePipelineHold(facts);
  if (held) return held;
  if (engine === 'alive' || (engine === undefined && item.acceptedAt)) return diagnoseQueue(facts);
  const wasTried = item.startTries > 0 || item.acceptedAt !== null;
  if (!wasTried && isAhead(item.startAfter, now)) return sayStartNotDue(item, item.startAfter);
  return engine === 'unknown' ? sayEngineUnreachable(item, now) : sayStartLost(item, now);
}

/** Whether the run closed before its first step. It can't be started again under its id, so the item needs a rescue. */
function wasClosed({ engine, closedAs }: Facts): boolean {
  return engine === 'gone' && closedAs !== undefined && closedAs !== 'never_existed';
}

function diagnoseRun(facts: Facts): Diagnosis | null {
  const { item, now, engine, wedgedBy, closedAs, unswept } = facts;
  if (wedgedBy !== undefined) return sayWedged(item, wedgedBy);
  if (!item.runEndedAt && engine !== 'gone') return null;
  const held = isHeld(facts) ? diagnosePipelineHold(facts) : null;
  if (held) return held;
  // Without a worker a new run could do nothing, and would cost the item a rescue.
  if (facts.pollers === 0) return sayNoWorker(facts);
  const verdict = verdictAt(facts, now);
  return isAhead(item.nextRescueAfter, now)
    ? sayRescueWait(item, item.nextRescueAfter, { verdict: verdictAt(facts, item.nextRescueAfter), unswept })
    : sayWorkflowClosed(item, { now, closedAs, verdict, unswept });
}

/** The sweep's verdict at that time, if nothing changes before. */
function verdictAt(facts: Facts, now: Date): SweepVerdict {
  if (!facts.pipeline) return 'rescue';
  return sweepVerdict(facts.pipeline, facts.item, {
    now,
    lastSignAt: lastSignOf(facts),
    isFree: isLostByEngine(facts),
  });
}

/** A worker that is dead or silent has a successor only where another worker asks for work. */
function diagnoseWork(facts: Facts): Diagnosis | null {
  const { item, now, running, pipeline, pollers } = facts;
  if (!running) return null;
  const silentFrom = new Date(running.beatAt.getTime() + beatsMsOf(pipeline, item.state, running.stage));
  if (!running.workerGoneAt && silentFrom >= now) return sayRunning(running, now);
  if (pollers === 0) return sayNoWorker(facts);
  return running.workerGoneAt
    ? sayWorkerDied(running, running.workerGoneAt, now)
    : saySilentWorker(running, silentFrom, now);
}

function diagnoseHold(facts: Facts): Diagnosis | null {
  const { now, waiting } = facts;
  const held = diagnosePipelineHold(facts);
  if (held) return held;
  if (facts.pollers === 0 && facts.engine !== 'unknown') return sayNoWorker(facts);
  if (waiting?.placeAskedAt && isAsking(waiting, now)) return saySuspectWait(waiting, waiting.placeAskedAt);
  return waiting?.error && waiting.retryAt ? sayRetrying(waiting, waiting.error, waiting.retryAt, now) : null;
}

/** A suspect that has not asked again in time waits for a worker, and places may be free. */
function isAsking({ retryAt }: WaitingTask, now: Date): boolean {
  return retryAt !== null && now.getTime() - retryAt.getTime() < ASKS_WITHIN_MS;
}

/** A breaker lets an item through to try only where a worker asks for work. A pause holds with or without workers. */
function diagnosePipelineHold(facts: Facts): Diagnosis | null {
  const { item, hold, pollers } = facts;
  if (!hold) return null;
  if (hold.kind === 'breaker') return pollers === 0 ? sayNoWorker(facts) : sayBreakerOpen(item, hold);
  return sayPaused(`The pipeline ${item.pipeline}`, hold.until, hold.reason);
}

/** For an item of which no task runs, that nothing holds, and whose run has not reported its end. */
function diagnoseQueue(facts: Facts): Diagnosis {
  const { item, now, engine, pollers, backlog } = facts;
  if (engine === 'unknown') return sayEngineUnreachable(item, now);
  return pollers === 0 ? sayNoWorker(facts) : sayBacklog(item, { now, engine, pollers, backlog });
}

function isAhead(at: Date | null, now: Date): at is Date {
  return at !== null && at > now;
}
