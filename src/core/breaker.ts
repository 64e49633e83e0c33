import type { ErrorClass } from './error-class.js';
import { msOf, type Span } from './span.js';

export interface BreakerSettings {
  /** Opens when this part of a stage's attempts (0 to 1) … */
  share: number;
  /** … and at least so many of them failed with one class … */
  failures: number;
  /** … among the last so many attempts. Counted over the whole window, an hour's good work would outvote the first
   *  minutes of an outage. */
  sample: number;
  /** Older attempts are not counted. */
  window: Span;
  /** The wait before the first item is let through, and the longest wait between two items while they fail. */
  probeAfter: Span;
  probeMax: Span;
  /** How many items a second are released at first, and the pace at which the breaker closes. */
  releasePerSecond: number;
  releaseMaxPerSecond: number;
}

/** The latest ended attempts at one stage, done or failed. Crashes are left out, because they are not errors. */
export interface Sample {
  attempts: number;
  /** Attempts that failed with the class in question. */
  failures: number;
  /** The number of tasks behind these failures. */
  failedTasks: number;
}

/** Times are measured from now, by the clock of the database. */
export interface Breaker {
  state: 'open' | 'releasing';
  /** When the next item may pass; negative: it may pass now. */
  dueInMs: number;
  /** An item was let through, and its attempt has not ended yet. */
  probing: boolean;
  probeEveryMs: number;
  perSecond: number;
  successes: number;
  /** The result of an item that was let through in an earlier round does not count in this round. */
  round: number;
  /** Items that it holds, roughly. */
  waiting: number;
}

/** The breaker's next state. `nextPassInMs` is counted from now; null: unchanged. */
export type Change = Omit<Breaker, 'dueInMs' | 'waiting'> & { nextPassInMs: number | null };

/** A fault of the item itself is no storm: holding back other items would not mend it. A crash is no failure of a stage, and
 *  suspects take care of tasks that crash. Every other class can come from something that many items need; UNKNOWN too,
 *  because a bad deployment fails in ways that nobody has classed. */
const NEVER_OPENS: readonly ErrorClass[] = ['BAD_INPUT', 'WORKER_CRASH'];

/** A single task that fails again and again, however often, is at fault itself. */
const MIN_TASKS = 2;

/** While one item is being tried, the others ask again soon, because its success releases them. */
const PROBING_HOLD_MS = 2_000;

/** Items that wait for the same moment come spread over this share of the wait after it, not all at once. */
const SPREAD = 0.2;
const MIN_SPREAD_MS = 1_000;

/** A free place that no item takes for this long shows that no item waits any more. */
const QUIET_MS = 30_000;

/** `ownFaults`: classes that are the item's own fault in the stage in which it failed. */
export function canOpen(errorClass: ErrorClass, ownFaults: readonly ErrorClass[] = []): boolean {
  return ![...NEVER_OPENS, ...ownFaults].includes(errorClass);
}

export function opensBreaker(settings: BreakerSettings, sample: Sample): boolean {
  const { attempts, failures, failedTasks } = sample;
  return failures >= settings.failures && failures >= settings.share * attempts && failedTasks >= MIN_TASKS;
}

export function openingChange(settings: BreakerSettings, round: number): Change {
  const probeEveryMs = msOf(settings.probeAfter);
  return { state: 'open', nextPassInMs: probeEveryMs, probing: false, probeEveryMs, perSecond: 0, successes: 0, round };
}

export type PassDecision = { is: 'hold'; forMs: number } | { is: 'pass'; change: Change };

/** Whether a claim may pass. `random` is from 0 to 1. While the breaker is open, every pass doubles the wait, so that a
 *  probe that never reports back counts like a probe that fails. */
export function passDecision(breaker: Breaker, settings: BreakerSettings, random: number): PassDecision {
  if (breaker.dueInMs > 0) return { is: 'hold', forMs: holdMs(breaker, settings, random) };
  if (breaker.state === 'open') {
    const probeEveryMs = Math.min(msOf(settings.probeMax), 2 * breaker.probeEveryMs);
    return { is: 'pass', change: { ...changeOf(breaker), probing: true, probeEveryMs, nextPassInMs: probeEveryMs } };
  }
  const everyMs = 1_000 / breaker.perSecond;
  // One place that was free for a moment is kept, or the pace would never be reached; more than one is not.
  const nextPassInMs = everyMs + Math.max(breaker.dueInMs, -everyMs);
  return { is: 'pass', change: { ...changeOf(breaker), nextPassInMs } };
}

/** How long a claim that may not pass is held. */
export function holdMs(breaker: Breaker, settings: BreakerSettings, random: number): number {
  const dueInMs = Math.max(0, breaker.dueInMs);
  const spread = spreadMs(breaker, settings);
  if (breaker.state === 'open' && !breaker.probing) return Math.ceil(dueInMs + spread * random);
  return Math.ceil(Math.min(dueInMs, PROBING_HOLD_MS) + spread * (0.5 + random));
}

/** Wide enough that no more waiting items come back in a second than are released at the fastest pace. So the load of
 *  asking is bounded, however many items wait. At that pace the breaker holds no item back any more, so it may
 *  close. */
function spreadMs({ state, probing, probeEveryMs, waiting }: Breaker, settings: BreakerSettings): number {
  const ofWait = state === 'open' && !probing ? SPREAD * probeEveryMs : 0;
  return Math.max(MIN_SPREAD_MS, ofWait, (1_000 * waiting) / settings.releaseMaxPerSecond);
}

/** The change after the success of an item that was let through in this round. */
export function afterSuccess(breaker: Breaker, settings: BreakerSettings): Change | 'close' {
  if (breaker.state === 'open') {
    const perSecond = settings.releasePerSecond;
    const round = breaker.round + 1;
    return {
      ...changeOf(breaker),
      state: 'releasing',
      probing: false,
      nextPassInMs: 0,
      perSecond,
      successes: 0,
      round,
    };
  }
  const successes = breaker.successes + 1;
  // One second at this pace releases as many items.
  if (successes < breaker.perSecond) return { ...changeOf(breaker), successes };
  const perSecond = 2 * breaker.perSecond;
  if (perSecond > settings.releaseMaxPerSecond) return 'close';
  return { ...changeOf(breaker), perSecond, successes: 0 };
}

/** The change after the failure of an item that was let through in this round. If the failure is of the breaker's
 *  class, the probe of an open breaker has failed, and a releasing breaker opens again. A failure of another class
 *  proves nothing, and the next item gets the place. */
export function afterFailure(breaker: Breaker, settings: BreakerSettings, isOfClass: boolean): Change | null {
  if (breaker.state === 'open') {
    const tried = { ...changeOf(breaker), probing: false };
    const probeEveryMs = Math.max(msOf(settings.probeAfter), breaker.probeEveryMs / 2);
    return isOfClass ? tried : { ...tried, probeEveryMs, nextPassInMs: 0 };
  }
  return isOfClass ? openingChange(settings, breaker.round + 1) : null;
}

/** Whether a place of a releasing breaker has been free for so long that no item can be waiting. */
export function isQuiet(breaker: Breaker, settings: BreakerSettings): boolean {
  return breaker.state === 'releasing' && isLeftFree(breaker, settings);
}

/** Whether an open breaker's place for a trial has been free for so long that an item would have taken it. It may be closed if no item
 *  waits; an item of a stopped worker may wait. */
export function isDeserted(breaker: Breaker, settings: BreakerSettings): boolean {
  return breaker.state === 'open' && isLeftFree(breaker, settings);
}

function isLeftFree(breaker: Breaker, settings: BreakerSettings): boolean {
  return -breaker.dueInMs > Math.max(QUIET_MS, 2 * spreadMs(breaker, settings));
}

function changeOf({ state, probing, probeEveryMs, perSecond, successes, round }: Breaker): Change {
  return { state, probing, probeEveryMs, perSecond, successes, round, nextPassInMs: null };
}
