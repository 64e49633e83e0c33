import { describe, expect, it } from 'vitest';
import { endOf, overlapsIn, planOf, sentenceOf, targetOf } from './plan.js';

const TEN_MINUTES = 600_000;

describe('a plan of faults', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(planOf(7, TEN_MINUTES)).toEqual(planOf(7, TEN_MINUTES));
    expect(planOf(7, TEN_MINUTES).map(sentenceOf)).not.toEqual(planOf(8, TEN_MINUTES).map(sentenceOf));
  });

  it.each([1, 2, 3])('hits every part and every wire in every way, also two things at once (seed %i)', (seed) => {
    const plan = planOf(seed, TEN_MINUTES);
    const kinds = new Set(plan.map(({ does }) => does.kind));
    expect([...kinds].toSorted()).toEqual(['cut', 'delay', 'freeze', 'kill', 'stall']);
    expect(new Set(plan.map(targetOf)).size).toBe(9);
    expect(overlapsIn(plan)).toBeGreaterThan(10);
  });

  it('is over when its time is', () => {
    expect(endOf(planOf(1, TEN_MINUTES))).toBeLessThanOrEqual(TEN_MINUTES);
  });

  it('never hits what is hit already', () => {
    const plan = planOf(1, TEN_MINUTES);
    for (const [at, fault] of plan.entries()) {
      const before = plan.slice(0, at).findLast((each) => targetOf(each) === targetOf(fault));
      expect((before?.atMs ?? 0) + (before?.forMs ?? 0)).toBeLessThan(fault.atMs);
    }
  });
});
