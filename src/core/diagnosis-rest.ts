import type { Diagnosis, ItemFacts } from './diagnosis.js';
import type { Decider, RestReason } from './pipeline.js';
import { ageOf, endOf } from './diagnosis-words.js';

/** Sentences about items that wait for a person or a time, or have ended. Each function fills the sentence of one reason with facts,
 *  adds the evidence, and says what comes next. */

export function sayFinished(item: ItemFacts, endedAt: Date, now: Date): Diagnosis {
  const why = item.endReason ? `, reason ${item.endReason}` : '';
  return {
    reason: 'finished',
    sentence: `It ended in ${item.state} ${ageOf(endedAt, now)} ago${why}.`,
    evidence: { state: item.state, endedAt: endedAt.toISOString(), endReason: item.endReason },
    nextAction: 'None is needed.',
    nextAt: null,
  };
}

export function sayParked(item: ItemFacts, parkedAt: Date, now: Date): Diagnosis {
  return {
    reason: 'parked',
    sentence: `It was parked ${ageOf(parkedAt, now)} ago: ${item.parkedWhy ?? NO_REASON}.`,
    evidence: { parkedAt: parkedAt.toISOString(), why: item.parkedWhy },
    nextAction: 'A person must retry or cancel it.',
    nextAt: null,
  };
}

export function sayPaused(who: string, until: Date | 'infinity', why: string | null): Diagnosis {
  const end = endOf(until);
  return {
    reason: 'paused',
    sentence: `${who} is paused until ${end?.toISOString() ?? 'somebody resumes it'}: ${why ?? NO_REASON}.`,
    evidence: { until: end?.toISOString() ?? null, why },
    nextAction: end ? 'It goes on by itself.' : 'A person must resume it.',
    nextAt: end,
  };
}

export function sayAwaitingDecision(item: ItemFacts, who: Decider, outcomes: string[]): Diagnosis {
  return {
    reason: 'awaiting_decision',
    sentence: `It waits in ${item.state} for a decision of ${who === 'owner' ? 'the owner' : 'a reviewer or an admin'}.`,
    evidence: { state: item.state, awaits: who, outcomes: outcomes.join(', ') },
    nextAction: `A person must decide: ${outcomes.join(' or ')}.`,
    nextAt: null,
  };
}

const REST_WORDS = {
  awaiting_upload: { sentence: 'It waits for its upload.', nextAction: 'A person must upload and confirm it.' },
  backlog: { sentence: 'It waits for its turn.', nextAction: 'The next free worker takes it.' },
  not_due: { sentence: 'Nothing is to be done for it yet.', nextAction: 'It is picked when it is due.' },
} as const satisfies Record<RestReason, { sentence: string; nextAction: string }>;

export function sayResting(item: ItemFacts, reason: RestReason): Diagnosis {
  return { reason, ...REST_WORDS[reason], evidence: { state: item.state }, nextAt: null };
}

export function sayStartNotDue(item: ItemFacts, startAfter: Date): Diagnosis {
  return {
    reason: 'not_due',
    sentence: `Its run starts at ${startAfter.toISOString()} at the latest.`,
    evidence: { state: item.state, startAfter: startAfter.toISOString() },
    nextAction: 'The dispatcher starts it then, if nobody has before.',
    nextAt: startAfter,
  };
}

const NO_REASON = 'no reason given';
