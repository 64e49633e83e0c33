import { describe, expect, it } from 'vitest';
import { addDurations, BUCKET_BOUNDS_MS, NO_DURATIONS } from '../../../../src/core/figures.js';
import { isSlaMet, SLA_TARGETS, slaOfDurations, slaOfValues } from '../../../../src/domains/submission/core/sla.js';

const UNKNOWN = { sampleSize: 0, p50: null, p95: null, withinTypical: 0, withinP95: 0 };

describe('the figures of promised times', () => {
  it('are unknown, not zero, where nothing was measured', () => {
    expect(slaOfValues([], SLA_TARGETS.review)).toEqual(UNKNOWN);
    expect(slaOfDurations(NO_DURATIONS, SLA_TARGETS.tier1)).toEqual(UNKNOWN);
    expect(isSlaMet(UNKNOWN)).toBeNull();
  });

  it('give the median and the 95th percentile, in whatever order the values come', () => {
    const days = Array.from({ length: 20 }, (_, n) => 20 - n);
    expect(slaOfValues(days, SLA_TARGETS.review)).toEqual({
      ...{ sampleSize: 20, p50: 10, p95: 19 },
      ...{ withinTypical: 5, withinP95: 10 },
    });
  });

  it('are the value itself when there is only one', () => {
    expect(slaOfValues([7], SLA_TARGETS.review)).toMatchObject({ sampleSize: 1, p50: 7, p95: 7, withinTypical: 0 });
  });

  it('are met if half stay within the typical target and 95 % within the other', () => {
    const figure = { sampleSize: 100, p50: 1, p95: 1 };
    expect(isSlaMet({ ...figure, withinTypical: 50, withinP95: 95 })).toBe(true);
    expect(isSlaMet({ ...figure, withinTypical: 49, withinP95: 100 })).toBe(false);
    expect(isSlaMet({ ...figure, withinTypical: 100, withinP95: 94 })).toBe(false);
  });

  it('have targets in milliseconds that durations are counted by', () => {
    const inMs = Object.values(SLA_TARGETS).filter(({ unit }) => unit === 'ms');
    const bounds: readonly number[] = BUCKET_BOUNDS_MS;
    expect(inMs.flatMap(({ typical, p95 }) => [typical, p95]).filter((ms) => !bounds.includes(ms))).toEqual([]);
    expect(slaOfDurations(addDurations([]), SLA_TARGETS.tier2)).toEqual(UNKNOWN);
  });
});
