import { expect, it } from 'vitest';
import { estimateOf, type Throughput } from '../../src/core/queue-estimate.js';

const LATER = new Date('2026-11-16T12:00:00Z');

/** Ten that took a second each, two at a time. */
const LATELY: Throughput = {
  ...{ sampleSize: 10, typicalMs: 1_000, busyMs: 5_000, workMs: 10_000 },
  ...{ pausedUntil: null, breaker: null, workers: 2 },
};
const BASIS = { sampleSize: 10, typicalSeconds: 1, atOnce: 2 };

it.each<[string, number, number]>([
  ['is no shorter than the work on one', 1, 1],
  ['is that of those before it, at the pace of busy times', 34, 17],
  ['rounds up', 3, 2],
])('an estimate %s', (_, position, seconds) => {
  expect(estimateOf(position, LATELY)).toEqual({ seconds, why: null, basis: BASIS });
});

it.each<[string, Partial<Throughput>, string]>([
  ['a pause', { pausedUntil: LATER }, 'the queue is paused until 2026-11-16T12:00:00.000Z'],
  ['no worker', { workers: 0 }, 'no worker is there at the moment'],
  [
    'a breaker',
    { breaker: { nextPassAt: LATER } },
    'something that the items need fails; the next item is let through at 2026-11-16T12:00:00.000Z',
  ],
  ['too few', { sampleSize: 2 }, 'only 2 ended in the last 6 hours, too few to tell'],
])('an estimate is not known for %s', (_, now, why) => {
  expect(estimateOf(1, { ...LATELY, ...now })).toMatchObject({ seconds: null, why });
});

it('an estimate of what is paused itself, and of nothing, is not known', () => {
  expect(estimateOf(1, LATELY, true)).toEqual({ seconds: null, why: 'it is paused', basis: BASIS });
  const none = { ...LATELY, sampleSize: 0, typicalMs: 0, busyMs: 0, workMs: 0 };
  expect(estimateOf(1, none)).toEqual({ seconds: null, why: 'nothing has ended in the last 6 hours', basis: null });
});
