import { expect, it } from 'vitest';
import { estimateOf } from '../../src/core/queue-estimate.js';

const HOUR_MS = 3_600_000;
const PAUSED = new Date('2026-11-16T12:00:00Z');

it.each([
  ['goes on as lately', 3, { ended: 12, overMs: 6 * HOUR_MS, pausedUntil: null }, { seconds: 5_400, why: null }],
  ['rounds up', 1, { ended: 7_000, overMs: HOUR_MS, pausedUntil: null }, { seconds: 1, why: null }],
  [
    'of nothing is not known',
    1,
    { ended: 0, overMs: HOUR_MS, pausedUntil: null },
    { seconds: null, why: 'nothing has ended in the last 6 hours' },
  ],
  [
    'of what nobody counted is not known',
    1,
    { ended: 0, overMs: 0, pausedUntil: null },
    { seconds: null, why: 'nothing has been counted in the last 6 hours' },
  ],
  [
    'of a pause is not known',
    1,
    { ended: 9, overMs: HOUR_MS, pausedUntil: PAUSED },
    { seconds: null, why: 'the queue is paused until 2026-11-16T12:00:00.000Z' },
  ],
])('an estimate %s', (_, position, throughput, estimate) => {
  expect(estimateOf(position, throughput)).toEqual(estimate);
});
