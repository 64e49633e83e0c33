import { describe, expect, it } from 'vitest';
import { scanVerdictOf } from '../../../../../src/domains/submission/core/verdict/scan-verdict.js';

describe('the verdict of a scan', () => {
  it.each([
    ['critical', 'execution', 'fail'],
    ['high', 'secrets', 'fail'],
    ['medium', 'execution', 'pass'],
    ['low', 'credentials', 'pass'],
    ['info', 'injection', 'pass'],
    ['high', 'structure', 'fail'],
    ['medium', 'structure', 'fail'],
    ['low', 'structure', 'pass'],
  ])('a finding that is %s, of %s: %s', (severity, category, verdict) => {
    expect(
      scanVerdictOf([
        { severity: 'info', category: 'execution' },
        { severity, category },
      ]),
    ).toBe(verdict);
  });

  it('passes what has no findings', () => {
    expect(scanVerdictOf([])).toBe('pass');
  });
});
