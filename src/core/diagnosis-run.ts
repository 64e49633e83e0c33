import type { Diagnosis, ItemFacts } from './diagnosis.js';
import type { SweepVerdict } from './rescue-budget.js';
import { ageOf, count } from './diagnosis-words.js';

/** Sentences about runs that were lost, have ended or make no progress. */

export function sayStartLost(item: ItemFacts, now: Date): Diagnosis {
  return {
    reason: 'start_lost',
    sentence: `No worker has taken it up for ${ageOf(item.beatAt, now)}; its start ${startWords(item)}.`,
    evidence: {
      startTries: item.startTries,
      acceptedAt: item.acceptedAt?.toISOString() ?? null,
      beatAt: item.beatAt.toISOString(),
    },
    nextAction: 'The dispatcher starts it again.',
    nextAt: item.startAfter,
  };
}

function startWords({ acceptedAt, startTries }: ItemFacts): string {
  if (acceptedAt) return 'was accepted by Temporal, which knows no run of it now';
  return startTries === 0 ? 'was not tried by the dispatcher yet' : `was tried ${count(startTries, 'time')}`;
}

interface Sweeping {
  verdict: SweepVerdict;
  unswept: string | undefined;
}

interface ClosedRun extends Sweeping {
  now: Date;
  closedAs: string | undefined;
}

export function sayWorkflowClosed(item: ItemFacts, { now, closedAs, ...sweeping }: ClosedRun): Diagnosis {
  return {
    reason: 'workflow_closed',
    sentence: closedSentence(item, now, closedAs),
    evidence: { runEndedAt: item.runEndedAt?.toISOString() ?? null, closedAs: closedAs ?? null, rescues: item.rescues },
    nextAction: actionOf('The next sweep', sweeping),
    nextAt: null,
  };
}

function closedSentence(item: ItemFacts, now: Date, closedAs: string | undefined): string {
  if (!item.runEndedAt && closedAs === 'never_existed') {
    return `Temporal knows of no run for it; its last sign of life was ${ageOf(item.beatAt, now)} ago.`;
  }
  const when = item.runEndedAt ? `${ageOf(item.runEndedAt, now)} ago` : 'without a word';
  const how = closedAs === undefined || closedAs === 'never_existed' ? '' : ` (${closedAs})`;
  return `Its run ended ${when}${how}, before the item did.`;
}

const VERDICTS = {
  rescue: 'rescues it',
  exhaust: 'ends it, for its rescues are spent',
  park: 'parks it, for it is too old to be driven on unasked',
} as const satisfies Record<SweepVerdict, string>;

/** The sentence says so when the pipeline's sweep is stopped, because then nothing happens by itself. */
function actionOf(sweep: string, { verdict, unswept }: Sweeping): string {
  const done = `${sweep} ${VERDICTS[verdict]}`;
  return unswept === undefined ? `${done}.` : `${done}, but ${unswept}: a person must resume it, or retry the item.`;
}

export function sayRescueWait(item: ItemFacts, nextRescueAfter: Date, sweeping: Sweeping): Diagnosis {
  return {
    reason: 'rescue_wait',
    sentence: `Its run ended after ${count(item.rescues, 'rescue')}; nothing is done before ${nextRescueAfter.toISOString()}.`,
    evidence: { rescues: item.rescues, nextRescueAfter: nextRescueAfter.toISOString() },
    nextAction: actionOf('The first sweep after that', sweeping),
    nextAt: sweeping.unswept === undefined ? nextRescueAfter : null,
  };
}

export function sayWedged(item: ItemFacts, failure: string): Diagnosis {
  return {
    reason: 'wedged',
    sentence: `Its run fails again and again before it can do anything: ${failure}.`,
    evidence: { state: item.state, failure },
    nextAction: 'A person must mend the cause and retry it.',
    nextAt: null,
  };
}

export function sayEngineUnreachable(item: ItemFacts, now: Date): Diagnosis {
  const unknown = item.started ? 'nobody knows what its run does' : 'nobody knows whether it was started';
  return {
    reason: 'engine_unreachable',
    sentence: `Temporal does not answer, so ${unknown}; its last sign of life was ${ageOf(item.beatAt, now)} ago.`,
    evidence: { state: item.state, beatAt: item.beatAt.toISOString() },
    nextAction: 'It goes on when Temporal is back.',
    nextAt: null,
  };
}
