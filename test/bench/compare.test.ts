import { describe, expect, it } from 'vitest';
import { ratiosOf, sidesIn } from '../../bench/compare.js';
import { withImportsOf } from '../../bench/older-side.js';

describe('the comparison of two sides', () => {
  it('divides the present median of each figure by the older one', () => {
    const ratios = ratiosOf({ old: { ms: [10, 30, 20], pages: [0] }, new: { ms: [10, 9, 50], pages: [0] } });

    expect(ratios).toEqual([
      { figure: 'ms', old: 20, new: 10, ratio: 0.5 },
      { figure: 'pages', old: 0, new: 0, ratio: 1 },
    ]);
  });

  it('lets each side begin every second repeat', () => {
    expect([1, 2].map((repeat) => sidesIn(repeat)[0])).toEqual(['new', 'old']);
  });
});

describe('a file of bench that is given to an older commit', () => {
  it('imports from where that commit keeps its files, and its neighbours as before', () => {
    const homes = new Map([['src/db/postgres/client.ts', 'src/db/client.ts']]);
    const text = [
      "import { createPool } from '../src/db/postgres/client.js';",
      "import { workflowIdOf } from '../src/core/run.js';",
      "import { median } from './quantile.js';",
    ].join('\n');

    expect(withImportsOf(text, homes)).toBe(text.replace('postgres/client.js', 'client.js'));
  });
});
