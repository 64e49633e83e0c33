import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CRITERIA,
  DEFAULT_THRESHOLDS as USUAL,
  type Flaw,
  type Limit,
  limitOfAddresses,
  limitOfFlaws,
  limitOfInvented,
  limitOfUnseen,
  type Marks,
  pointsOf,
  RUBRIC,
  scoreOf,
  judgeVerdictOf,
} from '../../../../../src/domains/submission/core/judgement/judgement.js';

const SEVERITIES = ['critical', 'high', 'medium', 'low', 'info'] as const;

function marksOf(mark: number, given: Partial<Marks> = {}): Marks {
  return { ...(Object.fromEntries(CRITERIA.map((name) => [name, mark])) as Record<keyof Marks, number>), ...given };
}

function scored(marks: Marks, limits: readonly Limit[] = []): number {
  return scoreOf(pointsOf(marks), limits);
}

const anyMarks = fc
  .array(fc.integer({ min: 0, max: 10 }), { minLength: CRITERIA.length, maxLength: CRITERIA.length })
  .map(
    (marks) => Object.fromEntries(CRITERIA.map((name, at) => [name, marks[at] ?? 0])) as Record<keyof Marks, number>,
  );
const anyFlaw = fc.record({ severity: fc.constantFrom(...SEVERITIES), name: fc.string() });

describe('a score', () => {
  it('comes from weights that sum to 100', () => {
    expect(Object.values(RUBRIC).reduce((sum, weight) => sum + weight, 0)).toBe(100);
    expect([scored(marksOf(10)), scored(marksOf(0))]).toEqual([100, 0]);
  });

  it('is rounded down', () => {
    expect(scored(marksOf(10, { leastPrivilege: 9 }))).toBe(98);
  });

  it('counts a mark outside the scale as the nearest mark on it, and NaN as 0', () => {
    expect(scored(marksOf(10, { leastPrivilege: 1_000 }))).toBe(100);
    expect(scored(marksOf(10, { leastPrivilege: -1_000 }))).toBe(85);
    expect(scored(marksOf(10, { leastPrivilege: Number.NaN }))).toBe(85);
    expect(scored(marksOf(10, { leastPrivilege: Number.POSITIVE_INFINITY }))).toBe(100);
  });

  it.each([
    ['critical', 0],
    ['high', 59],
    ['medium', 79],
    ['low', 95],
    ['info', 100],
  ] as const)('with a %s finding is at most %i', (severity, most) => {
    expect(scored(marksOf(10), limitOfFlaws([{ severity, name: 'X' }], USUAL))).toBe(most);
  });

  it('is never raised by a finding, or by any other limit', () => {
    fc.assert(
      fc.property(anyMarks, fc.array(anyFlaw), anyFlaw, (marks, flaws: Flaw[], another: Flaw) => {
        const before = scored(marks, limitOfFlaws(flaws, USUAL));
        const limits = [
          ...limitOfFlaws([...flaws, another], USUAL),
          ...limitOfUnseen(['x'], USUAL),
          ...limitOfInvented(1, USUAL),
        ];
        expect(scored(marks, limitOfFlaws([...flaws, another], USUAL))).toBeLessThanOrEqual(before);
        expect(scored(marks, limits)).toBeLessThanOrEqual(Math.min(before, 79));
      }),
    );
  });

  it('is limited by the worst finding, which it names', () => {
    const flaws = [...SEVERITIES].reverse().map((severity) => ({ severity, name: `A ${severity} one` }));

    expect(limitOfFlaws(flaws, USUAL)).toEqual([{ to: 0, because: 'The scan found, as critical: A critical one.' }]);
    expect(limitOfFlaws([], USUAL)).toEqual([]);
  });

  it('leaves a skill to a person if the judge did not see a file or made up a quote', () => {
    expect(limitOfUnseen(['a', 'b', 'c', 'd', 'e'], USUAL)).toEqual([
      { to: 79, because: 'The judge did not see all of a, b, c and 2 more.' },
    ]);
    expect(limitOfInvented(1, USUAL)).toEqual([
      { to: 79, because: 'The judge quoted 1 passage that is not in the skill, so a person decides.' },
    ]);
    expect([...limitOfUnseen([], USUAL), ...limitOfInvented(0, USUAL), ...limitOfAddresses([], USUAL)]).toEqual([]);
  });

  it('cuts the path of a file that the judge did not see', () => {
    expect(limitOfUnseen([`\u202e${'x'.repeat(500)}`], USUAL)[0]?.because).toMatch(/of \\u\{202e\}x{99}\.$/);
  });

  it('rejects a skill that dictates the verdict, and leaves one that speaks to its reviewer to a person', () => {
    expect(limitOfAddresses([{ isDemand: false }], USUAL)[0]?.to).toBe(79);
    expect(limitOfAddresses([{ isDemand: false }, { isDemand: true }], USUAL)[0]?.to).toBe(59);
  });
});

describe('a verdict', () => {
  it.each([
    [100, 'approve'],
    [80, 'approve'],
    [79, 'review'],
    [60, 'review'],
    [59, 'reject'],
    [0, 'reject'],
    [Number.NaN, 'reject'],
  ] as const)('of %d is %s', (score, verdict) => {
    expect(judgeVerdictOf({ score, privileges: [] }, USUAL)).toBe(verdict);
  });

  it.each([
    [100, 'review'],
    [80, 'review'],
    [60, 'review'],
    [59, 'reject'],
  ] as const)('of %d with a privilege is %s', (score, verdict) => {
    expect(judgeVerdictOf({ score, privileges: ['elevation'] }, USUAL)).toBe(verdict);
  });
});

describe('thresholds that are set', () => {
  const anyThresholds = fc
    .tuple(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 100 }))
    .filter(([one, other]) => one !== other)
    .map(([one, other]) => ({ approve: Math.max(one, other), review: Math.min(one, other) }));

  it('keep every limit on its side: refused, left to a person, or no obstacle', () => {
    fc.assert(
      fc.property(anyThresholds, (thresholds) => {
        const verdictUnder = (limits: readonly Limit[]) =>
          judgeVerdictOf({ score: scored(marksOf(10), limits), privileges: [] }, thresholds);
        const flawed = (severity: Flaw['severity']) =>
          verdictUnder(limitOfFlaws([{ severity, name: 'X' }], thresholds));

        expect(SEVERITIES.map(flawed)).toEqual(['reject', 'reject', 'review', 'approve', 'approve']);
        expect(verdictUnder(limitOfUnseen(['x'], thresholds))).toBe('review');
        expect(verdictUnder(limitOfInvented(1, thresholds))).toBe('review');
        expect(verdictUnder(limitOfAddresses([{ isDemand: false }], thresholds))).toBe('review');
        expect(verdictUnder(limitOfAddresses([{ isDemand: true }], thresholds))).toBe('reject');
      }),
    );
  });

  it('let the worst finding set the limit, even where a low one leaves less than full marks', () => {
    const flaws = (['low', 'medium'] as const).map((severity) => ({ severity, name: `A ${severity} one` }));

    expect(limitOfFlaws(flaws, { approve: 100, review: 98 })).toEqual([
      { to: 99, because: 'The scan found, as medium: A medium one.' },
    ]);
  });
});
