import type { ErrorClass } from './error-class.js';
import { msOf, type Span } from './span.js';

export interface BreakerSettings {
  /** Opens when this part of a stage's attempts (0 to 1) … */
  share: number;
  /** … and at least so many of them failed with one class … */
  failures: number;
  /** … among the last so many. Taken of the whole window, an hour's good work would outvote the first minutes of an outage. */
  sample: number;
  /** Older attempts say nothing. */
  window: Span;
  /** First item let through, and the longest wait between two while they fail. */
  probeAfter: Span;
  probeMax: Span;
  /** How many items a second are released at first, and the pace at which it closes. */
  releasePerSecond: number;
  releaseMaxPerSecond: number;
}

/** Ended attempts at one stage, the latest: done or failed. Crashes are no errors and are left out. */
export interface Sample {
  attempts: number;
  /** With the class in question. */
  failures: number;
  /** Tasks that these failures were of. */
  failedTasks: number;
}

/** Times are measured from now, by the clock of the database. */
export interface Breaker {
  state: 'open' | 'releasing';
  /** When the next item may pass; negative: that moment has come. */
  dueInMs: number;
  /** One was let through and has not said how it went. */
  probing: boolean;
  probeEveryMs: number;
  perSecond: number;
  successes: number;
  /** Who was let through in an earlier round says nothing of this one. */
  round: number;
  /** Items it holds, roughly. */
  waiting: number;
}

/** What a breaker becomes. `nextPassInMs` is from now; null: as it was. */
export type Change = Omit<Breaker, 'dueInMs' | 'waiting'> & { nextPassInMs: number | null };

/** What is wrong with an item itself is no storm: holding back its neighbours would not mend it. Every other class can come
 *  from something that many items need; UNKNOWN too, for a bad deployment fails in ways nobody has classed. */
const NEVER_OPENS: readonly ErrorClass[] = ['BAD_INPUT'];

/** One task that fails again and again is its own fault, however often it does. */
const MIN_TASKS = 2;

/** While one is being tried the others ask again soon: should it succeed, they are wanted. */
const PROBING_HOLD_MS = 2_000;

/** Items that wait for the same moment come within this part of the wait after it, not all at once. */
const SPREAD = 0.2;
const MIN_SPREAD_MS = 1_000;

/** For so long nobody has come for a free place: nobody waits any more. */
const QUIET_MS = 30_000;

/** `ownFaults`: classes that are the item's own doing in the stage it failed in. */
export function canOpen(errorClass: ErrorClass, ownFaults: readonly ErrorClass[] = []): boolean {
  return ![...NEVER_OPENS, ...ownFaults].includes(errorClass);
}

export function opensBreaker(settings: BreakerSettings, sample: Sample): boolean {
  const { attempts, failures, failedTasks } = sample;
  return failures >= settings.failures && failures >= settings.share * attempts && failedTasks >= MIN_TASKS;
}

export function openedBreaker(settings: BreakerSettings, round: number): Change {
  const probeEveryMs = msOf(settings.probeAfter);
  return { state: 'open', nextPassInMs: probeEveryMs, probing: false, probeEveryMs, perSecond: 0, successes: 0, round };
}

export type PassDecision = { is: 'hold'; forMs: number } | { is: 'pass'; change: Change };

/** Whether a claim may pass. `random` is from 0 to 1. While open, time alone doubles the wait: a probe that fails and one
 *  that is never heard of again are the same. */
export function passDecision(breaker: Breaker, settings: BreakerSettings, random: number): PassDecision {
  if (breaker.dueInMs > 0) return { is: 'hold', forMs: holdMs(breaker, settings, random) };
  if (breaker.state === 'open') {
    const probeEveryMs = Math.min(msOf(settings.probeMax), 2 * breaker.probeEveryMs);
    return { is: 'pass', change: { ...changeOf(breaker), probing: true, probeEveryMs, nextPassInMs: probeEveryMs } };
  }
  const everyMs = 1_000 / breaker.perSecond;
  // A place that was free for a moment is not lost, or the pace would never be reached; but only one is kept.
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

/** Wide enough that no more of the waiting come back in a second than are released at the fastest pace. So the load of asking
 *  is bounded however many wait, and at that pace the breaker holds nobody back any more: it may close. */
function spreadMs({ state, probing, probeEveryMs, waiting }: Breaker, settings: BreakerSettings): number {
  const ofWait = state === 'open' && !probing ? SPREAD * probeEveryMs : 0;
  return Math.max(MIN_SPREAD_MS, ofWait, (1_000 * waiting) / settings.releaseMaxPerSecond);
}

/** After the success of one that was let through in this round. */
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
  // All that a second at this pace releases.
  if (successes < breaker.perSecond) return { ...changeOf(breaker), successes };
  const perSecond = 2 * breaker.perSecond;
  if (perSecond > settings.releaseMaxPerSecond) return 'close';
  return { ...changeOf(breaker), perSecond, successes: 0 };
}

/** After a failure of one that was let through in this round. Of its class: an open one knows that its probe has failed, a
 *  releasing one opens again. Of another class it proves nothing, and the place is the next one's. */
export function afterFailure(breaker: Breaker, settings: BreakerSettings, isOfClass: boolean): Change | null {
  if (breaker.state === 'open') {
    const tried = { ...changeOf(breaker), probing: false };
    const probeEveryMs = Math.max(msOf(settings.probeAfter), breaker.probeEveryMs / 2);
    return isOfClass ? tried : { ...tried, probeEveryMs, nextPassInMs: 0 };
  }
  return isOfClass ? openedBreaker(settings, breaker.round + 1) : null;
}

/** Whether nobody has come for a free place for so long that nobody can be waiting. */
export function isQuiet(breaker: Breaker, settings: BreakerSettings): boolean {
  return breaker.state === 'releasing' && -breaker.dueInMs > Math.max(QUIET_MS, 2 * spreadMs(breaker, settings));
}

function changeOf({ state, probing, probeEveryMs, perSecond, successes, round }: Breaker): Change {
  return { state, probing, probeEveryMs, perSecond, successes, round, nextPassInMs: null };
}
