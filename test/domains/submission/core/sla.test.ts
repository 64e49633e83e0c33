import { describe, expect, it } from 'vitest';
import { addDurations, BUCKET_BOUNDS_MS, NO_DURATIONS } from '../../../../src/core/figures.js';
import {
  DEFAULT_SLA,
  isCountedAgainst,
  isSlaMet,
  type SlaTarget,
  slaOfDurations,
  slaOfValues,
} from '../../../../src/domains/submission/core/sla.js';

const UNKNOWN = { sampleSize: 0, p50: null, p95: null, withinTypical: 0, withinP95: 0 };

function unknownAgainst({ typical, p95 }: SlaTarget) {
  return { ...UNKNOWN, against: { typical, p95 } };
}

describe('the figures of promised times', () => {
  it('are unknown, not zero, where nothing was measured', () => {
    expect(slaOfValues([], DEFAULT_SLA.review)).toEqual(unknownAgainst(DEFAULT_SLA.review));
    expect(slaOfDurations(NO_DURATIONS, DEFAULT_SLA.tier1)).toEqual(unknownAgainst(DEFAULT_SLA.tier1));
    expect(isSlaMet(UNKNOWN)).toBeNull();
  });

  it('give the median and the 95th percentile, in whatever order the values come', () => {
    const days = Array.from({ length: 20 }, (_, n) => 20 - n);
    expect(slaOfValues(days, DEFAULT_SLA.review)).toEqual({
      ...{ sampleSize: 20, p50: 10, p95: 19 },
      ...{ withinTypical: 5, withinP95: 10, against: { typical: 5, p95: 10 } },
    });
  });

  it('are the value itself when there is only one', () => {
    expect(slaOfValues([7], DEFAULT_SLA.review)).toMatchObject({ sampleSize: 1, p50: 7, p95: 7, withinTypical: 0 });
  });

  it('are met if half stay within the typical target and 95 % within the other', () => {
    const figure = { sampleSize: 100, p50: 1, p95: 1 };
    expect(isSlaMet({ ...figure, withinTypical: 50, withinP95: 95 })).toBe(true);
    expect(isSlaMet({ ...figure, withinTypical: 49, withinP95: 100 })).toBe(false);
    expect(isSlaMet({ ...figure, withinTypical: 100, withinP95: 94 })).toBe(false);
  });

  it('count for the targets that they were counted against alone', () => {
    const { review } = DEFAULT_SLA;
    const figure = slaOfValues([4], review);
    expect(isCountedAgainst(figure, review)).toBe(true);
    expect(isCountedAgainst(figure, { ...review, typical: 3 })).toBe(false);
    expect(isCountedAgainst(UNKNOWN, review)).toBe(false);
  });

  it('have targets in milliseconds that durations are counted by', () => {
    const inMs = Object.values(DEFAULT_SLA).filter(({ unit }) => unit === 'ms');
    const bounds: readonly number[] = BUCKET_BOUNDS_MS;
    expect(inMs.flatMap(({ typical, p95 }) => [typical, p95]).filter((ms) => !bounds.includes(ms))).toEqual([]);
    expect(slaOfDurations(addDurations([]), DEFAULT_SLA.tier2)).toEqual(unknownAgainst(DEFAULT_SLA.tier2));
  });
});
