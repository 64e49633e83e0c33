import { describe, expect, it } from 'vitest';
import { SLA_TARGETS, slaFigures } from '../../../../src/domains/submission/core/sla.js';

const NOTHING = { tier1: [], tier2: [], approveToPublish: [], endToEnd: [], review: [] };

describe('the figures of promised times', () => {
  it('are unknown, not zero, where nothing was measured', () => {
    const figures = Object.values(slaFigures(NOTHING));
    expect(figures).toHaveLength(Object.keys(SLA_TARGETS).length);
    for (const figure of figures) expect(figure).toEqual({ sampleSize: 0, p50: null, p95: null, withinTypical: 0 });
  });

  it('give the median and the 95th percentile, in whatever order the values come', () => {
    const tier1 = Array.from({ length: 20 }, (_, n) => (20 - n) * 100);
    expect(slaFigures({ ...NOTHING, tier1 }).tier1).toEqual({
      sampleSize: 20,
      p50: 1_000,
      p95: 1_900,
      withinTypical: 4,
    });
  });

  it('are the value itself when there is only one', () => {
    expect(slaFigures({ ...NOTHING, review: [7] }).review).toEqual({
      sampleSize: 1,
      p50: 7,
      p95: 7,
      withinTypical: 0,
    });
  });
});
