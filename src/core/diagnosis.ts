import * as say from './diagnosis-sentences.js';
import { isAwaits, isRests, stagesIn } from './machine.js';
import type { Pipeline } from './pipeline.js';
import { type Verdict, verdictOf } from './rescue-budget.js';
import { msOf } from './span.js';
import { DEFAULT_BEATS } from './step.js';

/** Why an item is where it is. One list, used by the API, the sweep, metrics and the console. */
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
  /** What happens by itself, or what a person must do. */
  nextAction: string;
  /** When it happens; null: not known, or up to a person. */
  nextAt: Date | null;
}

/** The columns of an item that tell why it does not move. */
export interface ItemFacts {
  pipeline: string;
  state: string;
  beatAt: Date;
  started: boolean;
  startAfter: Date | null;
  startTries: number;
  /** When the engine took the start, if the dispatcher had to ask for it. */
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
  /** When its worker was seen to be gone, if it was. */
  workerGoneAt: Date | null;
}

export interface WaitingTask {
  stage: string;
  unit: string;
  attempt: number;
  crashes: number;
  /** It has brought down workers and waits for one that runs no other suspect. */
  isSuspect: boolean;
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
  /** By the database's clock, as every other time here. */
  now: Date;
  item: ItemFacts;
  /** Undefined: this version of the program does not know the item's pipeline. */
  pipeline: Pipeline | undefined;
  /** The running task that gave the latest sign of life. */
  running: RunningTask | null;
  /** The waiting task that is due first. */
  waiting: WaitingTask | null;
  hold: Hold | null;
  /** What Temporal says of the run; without it, it was not asked. */
  engine?: 'alive' | 'gone' | 'unknown';
  /** How a run that is gone ended; `never_existed`: Temporal has never heard of it, or no longer knows. */
  closedAs?: string;
  /** The failure a live run fails on again and again. */
  wedgedBy?: string;
  /** Living workers that ask the pipeline's task queue for work. */
  pollers?: number;
  /** Tasks of all items that wait in that queue; null: not known. */
  backlog?: number | null;
  /** Why the pipeline is not swept, where it was asked and somebody has stopped that: `sweep-canary is paused`. */
  unswept?: string;
}

/** The last time the item moved or beat. A unit's beat is written to its task alone. */
export function lastSignOf({ item, running }: Pick<Facts, 'item' | 'running'>): Date {
  return running && running.beatAt > item.beatAt ? running.beatAt : item.beatAt;
}

/** Temporal lost a run that the row saw begin and never saw end: nothing the item did. */
export function isLostByEngine({ item, closedAs }: Pick<Facts, 'item' | 'closedAs'>): boolean {
  return item.started && item.runEndedAt === null && closedAs === 'never_existed';
}

/** Whether its pipeline keeps it from going on at this moment. A breaker whose next place is free holds nobody: a run that is
 *  gone can't come for the place, and left alone nobody would ever try. */
export function isHeld({ hold, now }: Pick<Facts, 'hold' | 'now'>): boolean {
  return hold !== null && (hold.kind === 'pause' || hold.until === 'infinity' || hold.until > now);
}

/** Names the first thing that keeps the item where it is. What a person or the clock must end comes before what only a
 *  worker can, and what the row knows before what Temporal must be asked for. */
export function diagnose(facts: Facts): Diagnosis {
  return ofRest(facts) ?? ofStart(facts) ?? ofRun(facts) ?? ofWork(facts) ?? ofHold(facts) ?? ofQueue(facts);
}

function ofRest({ item, now, pipeline }: Facts): Diagnosis | null {
  const row = pipeline?.states[item.state];
  if (item.endedAt) return say.finished(item, item.endedAt, now);
  if (item.parkedAt) return say.parked(item, item.parkedAt, now);
  if (item.pausedUntil === 'infinity' || isAhead(item.pausedUntil, now)) {
    return say.paused('It', item.pausedUntil, item.pauseReason);
  }
  if (row && isAwaits(row)) return say.awaitingDecision(item, row.awaits, Object.keys(row.then));
  if (row && isRests(row) && !item.started && item.startAfter === null) return say.resting(item, row.rests);
  return null;
}

function ofStart(facts: Facts): Diagnosis | null {
  const { item, now, engine, wedgedBy } = facts;
  if (item.started || wasClosed(facts)) return null;
  if (wedgedBy !== undefined) return say.wedged(item, wedgedBy);
  const held = ofPipelineHold(facts);
  if (held) return held;
  if (engine === 'alive' || (engine === undefined && item.acceptedAt)) return ofQueue(facts);
  const wasTried = item.startTries > 0 || item.acceptedAt !== null;
  if (!wasTried && isAhead(item.startAfter, now)) return say.startNotDue(item, item.startAfter);
  return engine === 'unknown' ? say.engineUnreachable(item, now) : say.startLost(item, now);
}

/** A run that closed before it took its first step can't be started again under its id: it needs a rescue. */
function wasClosed({ engine, closedAs }: Facts): boolean {
  return engine === 'gone' && closedAs !== undefined && closedAs !== 'never_existed';
}

function ofRun(facts: Facts): Diagnosis | null {
  const { item, now, engine, wedgedBy, closedAs, unswept } = facts;
  if (wedgedBy !== undefined) return say.wedged(item, wedgedBy);
  if (!item.runEndedAt && engine !== 'gone') return null;
  const held = isHeld(facts) ? ofPipelineHold(facts) : null;
  if (held) return held;
  // A new run could do nothing, and would cost the item a rescue.
  if (facts.pollers === 0) return say.noWorker(item, now);
  const verdict = verdictAt(facts, now);
  return isAhead(item.nextRescueAfter, now)
    ? say.rescueWait(item, item.nextRescueAfter, { verdict: verdictAt(facts, item.nextRescueAfter), unswept })
    : say.workflowClosed(item, { now, closedAs, verdict, unswept });
}

/** What the sweep will do at that time, should nothing change before. */
function verdictAt(facts: Facts, now: Date): Verdict {
  if (!facts.pipeline) return 'rescue';
  return verdictOf(facts.pipeline, facts.item, { now, lastSignAt: lastSignOf(facts), isFree: isLostByEngine(facts) });
}

function ofWork({ item, now, running, pipeline }: Facts): Diagnosis | null {
  if (!running) return null;
  if (running.workerGoneAt) return say.workerDied(running, running.workerGoneAt, now);
  const silentFrom = new Date(running.beatAt.getTime() + beatsMsOf(pipeline, item.state, running.stage));
  return silentFrom < now ? say.silentWorker(running, silentFrom, now) : say.running(running, now);
}

function ofHold(facts: Facts): Diagnosis | null {
  const { now, waiting } = facts;
  const held = ofPipelineHold(facts);
  if (held) return held;
  if (waiting?.isSuspect) return say.suspectWait(waiting);
  return waiting?.error && waiting.retryAt ? say.retrying(waiting, waiting.error, waiting.retryAt, now) : null;
}

function ofPipelineHold({ item, hold }: Facts): Diagnosis | null {
  if (!hold) return null;
  if (hold.kind === 'breaker') return say.breakerOpen(item, hold);
  return say.paused(`The pipeline ${item.pipeline}`, hold.until, hold.reason);
}

/** Nothing runs, nothing holds it, and no run has said that it ended. */
function ofQueue({ item, now, engine, pollers, backlog }: Facts): Diagnosis {
  if (engine === 'unknown') return say.engineUnreachable(item, now);
  return pollers === 0 ? say.noWorker(item, now) : say.backlog(item, { now, engine, pollers, backlog });
}

/** How long the stage may be silent before its worker counts as frozen. */
export function beatsMsOf(pipeline: Pipeline | undefined, state: string, stage: string): number {
  const row = pipeline?.states[state];
  const found = row && stagesIn(row).find((each) => each.stage === stage);
  return msOf(found?.beats ?? DEFAULT_BEATS);
}

function isAhead(at: Date | null, now: Date): at is Date {
  return at !== null && at > now;
}
