import { describe, expect, it } from 'vitest';
import {
  addDurations,
  BUCKET_BOUNDS_MS,
  countWithin,
  type Durations,
  NO_DURATIONS,
  quantileOf,
} from '../../src/core/figures.js';

/** One duration after the other, as the database would count them. */
function durationsOf(...all: number[]): Durations {
  const buckets = NO_DURATIONS.buckets.map((_, n) => {
    const [from, to] = [BUCKET_BOUNDS_MS[n - 1] ?? -1, BUCKET_BOUNDS_MS[n] ?? Infinity];
    return all.filter((ms) => ms > from && ms <= to).length;
  });
  return { count: all.length, sumMs: all.reduce((sum, ms) => sum + ms, 0), buckets };
}

describe('durations', () => {
  it('are added bucket by bucket', () => {
    const sum = addDurations([durationsOf(3, 700), durationsOf(4), NO_DURATIONS]);
    expect(sum).toEqual(durationsOf(3, 4, 700));
  });

  it('are exactly known to lie within a bound, and within nothing else', () => {
    const some = durationsOf(100, 499, 500, 501);
    expect(countWithin(some, 500)).toBe(3);
    expect(() => countWithin(some, 400)).toThrow('400 ms is no bound of a bucket');
  });

  it.each([
    ['nothing', [], 0.5, null],
    ['the middle of one bucket', [300, 300], 0.5, 375],
    ['the end of one bucket', [300, 300], 1, 500],
    ['the bucket of most', [1, 1, 1, 1, 1, 1, 1, 1, 1, 700], 0.95, 750],
    ['above every bound', [100_000_000], 0.5, 86_400_000],
  ] as const)('have a quantile in the bucket that holds it: %s', (_, all, share, expected) => {
    expect(quantileOf(durationsOf(...all), share)).toBe(expected);
  });
});
