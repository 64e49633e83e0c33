import { describe, expect, it } from 'vitest';
import { type Facts, REASONS } from '../../src/core/diagnosis.js';
import type { Pipeline } from '../../src/core/pipeline.js';
import { rescueDecision } from '../../src/core/rescue.js';
import { backoffMs, rescuesCounted } from '../../src/core/rescue-budget.js';
import { ago, facts, type Given, now, table as sample } from '../support/item-facts.js';

const table: Pipeline = {
  ...sample,
  rescue: { ...sample.rescue, budget: 3, backoff: ['3m', '10m', '30m'], budgetResetAfter: '24h', oldestRescued: '7d' },
};

const gone = { engine: 'gone', closedAs: 'terminated' } as const;
/** By the sample table, an item is stuck after five minutes. */
const silent = { beatAt: ago(301) };
const DAY_S = 86_400;

function decide(given: Given) {
  return rescueDecision(facts({ pipeline: table, ...given }));
}

/** The decision in one word. */
function wordOf(given: Given): string {
  const decision = decide(given);
  if (decision.do === 'leave') return decision.reports ? 'report' : 'leave';
  return decision.do === 'restart' && decision.isFree ? 'restart free' : decision.do;
}

const running = {
  ...{ stage: 'read', unit: '', attempt: 1, worker: 'worker-1' },
  ...{ startedAt: ago(900), beatAt: ago(2), workerGoneAt: null },
};
const waiting = {
  ...{ stage: 'read', unit: '', attempt: 1, crashes: 0, placeAskedAt: null, askedBefore: null, retryAt: ago(-20) },
  error: { class: 'NETWORK_ERROR', message: 'hung up' },
};
const pause = { kind: 'pause', key: '', until: 'infinity', reason: 'an upgrade' } as const;
const breaker = { kind: 'breaker', key: 'LLM_ERROR', until: ago(-30), reason: '6 of 8 failed' } as const;

type Line = [what: string, given: Given, word: string, reason: (typeof REASONS)[number]];

const LINES: Line[] = [
  // An item is left unless Temporal says that its run is gone.
  ['Temporal does not answer', { item: silent, engine: 'unknown' }, 'leave', 'engine_unreachable'],
  ['Temporal was not asked', { item: silent }, 'report', 'backlog'],
  [
    'a run that ended, while Temporal does not answer',
    { item: { runEndedAt: ago(9) }, engine: 'unknown' },
    'leave',
    'workflow_closed',
  ],
  [
    'a run that says it ended and is still closing',
    { item: { runEndedAt: ago(9) }, engine: 'alive' },
    'leave',
    'workflow_closed',
  ],
  ['running and beating', { item: silent, running, engine: 'alive' }, 'leave', 'running'],
  [
    'silent, but Temporal will see to it',
    { item: silent, running: { ...running, beatAt: ago(400) }, engine: 'alive' },
    'leave',
    'silent_worker',
  ],
  [
    'its worker died, and the watcher sees to it',
    { item: silent, running: { ...running, workerGoneAt: ago(1) }, engine: 'alive' },
    'leave',
    'worker_died',
  ],
  ['failed, and tried again later', { item: silent, waiting, engine: 'alive' }, 'leave', 'retrying'],
  [
    'a suspect that waits its turn',
    { item: silent, waiting: { ...waiting, placeAskedAt: ago(2), askedBefore: 0 }, engine: 'alive' },
    'leave',
    'suspect_wait',
  ],
  // An item that waits on purpose is left, even if its run is gone.
  ['ended', { item: { ...silent, state: 'finished', endedAt: ago(400) }, ...gone }, 'leave', 'finished'],
  ['awaiting a decision', { item: { ...silent, state: 'review' }, ...gone }, 'leave', 'awaiting_decision'],
  ['paused', { item: { ...silent, pausedUntil: 'infinity' }, ...gone }, 'leave', 'paused'],
  ['parked', { item: { ...silent, parkedAt: ago(60) }, ...gone }, 'leave', 'parked'],
  [
    'awaiting its upload',
    { item: { ...silent, state: 'waiting', started: false, startAfter: null }, ...gone },
    'leave',
    'awaiting_upload',
  ],
  [
    'its start lies ahead',
    { item: { ...silent, started: false, startAfter: ago(-60) }, engine: 'gone', closedAs: 'never_existed' },
    'leave',
    'not_due',
  ],
  ['its pipeline is paused', { item: silent, ...gone, hold: pause }, 'leave', 'paused'],
  ['a breaker is open', { item: silent, ...gone, hold: breaker }, 'leave', 'breaker_open'],
  [
    'not started, and its pipeline is paused',
    { item: { ...silent, started: false }, engine: 'gone', closedAs: 'never_existed', hold: pause },
    'leave',
    'paused',
  ],
  [
    'the table is not known to this version',
    { item: silent, ...gone, pipeline: undefined },
    'leave',
    'workflow_closed',
  ],
  // An item that only a person can help is reported, and its budget is not charged.
  ['behind others in the queue', { item: silent, engine: 'alive', pollers: 1, backlog: 9 }, 'report', 'backlog'],
  ['no worker', { item: silent, engine: 'alive', pollers: 0 }, 'report', 'no_worker'],
  ['no worker, and no run either', { item: silent, ...gone, pollers: 0 }, 'report', 'no_worker'],
  ['wedged', { item: silent, engine: 'alive', wedgedBy: 'no such type' }, 'report', 'wedged'],
  // Starts.
  [
    'never started',
    { item: { ...silent, started: false, startTries: 4 }, engine: 'gone', closedAs: 'never_existed' },
    'start',
    'start_lost',
  ],
  [
    'accepted by Temporal, which has lost it since',
    {
      item: { ...silent, started: false, startAfter: ago(-200), acceptedAt: ago(100) },
      engine: 'gone',
      closedAs: 'never_existed',
    },
    'start',
    'start_lost',
  ],
  [
    'never started, a moment ago',
    { item: { started: false, startTries: 4 }, engine: 'gone', closedAs: 'never_existed' },
    'leave',
    'start_lost',
  ],
  ['closed before its first step', { item: { ...silent, started: false }, ...gone }, 'restart', 'workflow_closed'],
  [
    'closed before its first step, soon after a rescue',
    { item: { ...silent, started: false, rescues: 1, nextRescueAfter: ago(-9) }, ...gone },
    'leave',
    'rescue_wait',
  ],
  // Rescues.
  ['gone, but not silent for long enough', { item: { beatAt: ago(299) }, ...gone }, 'leave', 'workflow_closed'],
  [
    'gone, and its unit beat not long ago',
    { item: silent, running: { ...running, beatAt: ago(200) }, ...gone },
    'leave',
    'workflow_closed',
  ],
  ['gone and silent', { item: silent, ...gone }, 'restart', 'workflow_closed'],
  [
    'said that it ended, without any silence',
    { item: { beatAt: ago(1), runEndedAt: ago(1) }, ...gone },
    'restart',
    'workflow_closed',
  ],
  [
    'said that it ended, while the backoff runs',
    { item: { runEndedAt: ago(1), rescues: 1, nextRescueAfter: ago(-1) }, ...gone },
    'leave',
    'rescue_wait',
  ],
  [
    'said that it ended, and the backoff is just over',
    { item: { runEndedAt: ago(1), rescues: 1, nextRescueAfter: now }, ...gone },
    'restart',
    'workflow_closed',
  ],
  [
    'forgotten by Temporal, which is not its doing',
    { item: { ...silent, rescues: 3, lastRescueAt: ago(400) }, engine: 'gone', closedAs: 'never_existed' },
    'restart free',
    'workflow_closed',
  ],
  [
    'forgotten by Temporal after it said that it ended',
    { item: { runEndedAt: ago(9) }, engine: 'gone', closedAs: 'never_existed' },
    'restart',
    'workflow_closed',
  ],
  // Ends.
  ['out of rescues', { item: { ...silent, rescues: 3, lastRescueAt: ago(1_801) }, ...gone }, 'fail', 'workflow_closed'],
  [
    'out of rescues, which are forgotten',
    { item: { ...silent, rescues: 3, lastRescueAt: ago(DAY_S) }, ...gone },
    'restart',
    'workflow_closed',
  ],
  [
    'out of rescues, which are nearly forgotten',
    { item: { ...silent, rescues: 3, lastRescueAt: ago(DAY_S - 1) }, ...gone },
    'fail',
    'workflow_closed',
  ],
  ['as old as anything is rescued', { item: { beatAt: ago(7 * DAY_S) }, ...gone }, 'restart', 'workflow_closed'],
  ['older', { item: { beatAt: ago(7 * DAY_S + 1) }, ...gone }, 'park', 'workflow_closed'],
  [
    'older, and forgotten by Temporal',
    { item: { beatAt: ago(8 * DAY_S) }, engine: 'gone', closedAs: 'never_existed' },
    'park',
    'workflow_closed',
  ],
];

describe('the decision on an item that gives no sign of life', () => {
  it.each(LINES)('%s', (_, given, word, reason) => {
    expect(wordOf(given)).toBe(word);
    expect(decide(given).diagnosis.reason).toBe(reason);
  });

  it('has a test case for every reason', () => {
    expect(new Set(LINES.map(([, , , reason]) => reason))).toEqual(new Set(REASONS));
  });
});

/** A run that ends as soon as it begins, with a sweep every minute. Returns the sweep's actions with their minutes. */
function walk(pipeline: Pipeline, forMinutes: number): string[] {
  const start = now.getTime();
  const item = { rescues: 0, lastRescueAt: null as Date | null, nextRescueAfter: null as Date | null };
  const done: string[] = [];
  for (let minute = 0; minute <= forMinutes; minute += 1) {
    const at = new Date(start + minute * 60_000);
    const given: Facts = { ...facts({ pipeline, item: { ...item, beatAt: at, runEndedAt: at }, ...gone }), now: at };
    const decision = rescueDecision(given);
    if (decision.do === 'leave') continue;
    done.push(`${String(minute)} ${decision.do}`);
    if (decision.do !== 'restart') break;
    const before = rescuesCounted(pipeline, item, at);
    item.rescues = before + 1;
    item.lastRescueAt = at;
    item.nextRescueAfter = new Date(at.getTime() + backoffMs(pipeline, before));
  }
  return done;
}

describe('the budget', () => {
  it('lets three rescues pass, 3, 10 and 30 minutes apart, and ends the item on the fourth look', () => {
    expect(walk(table, 120)).toEqual(['0 restart', '3 restart', '13 restart', '43 fail']);
  });

  it('begins anew when a day has passed without a rescue', () => {
    const patient: Pipeline = { ...table, rescue: { ...table.rescue, budget: 2, backoff: ['3m', '24h'] } };
    expect(walk(patient, 1_500)).toEqual(['0 restart', '3 restart', '1443 restart', '1446 restart']);
  });

  it('ends an item at its first rescue when the budget is zero', () => {
    expect(walk({ ...table, rescue: { ...table.rescue, budget: 0, backoff: [] } }, 9)).toEqual(['0 fail']);
  });

  it('repeats the last span when it is larger than the list of spans', () => {
    expect([0, 1, 2, 3, 9].map((before) => backoffMs(table, before) / 60_000)).toEqual([3, 10, 30, 30, 30]);
    expect(backoffMs({ ...table, rescue: { ...table.rescue, backoff: [] } }, 0)).toBe(0);
  });
});
