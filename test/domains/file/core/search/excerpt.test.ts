import { describe, expect, it } from 'vitest';
import { excerptOf } from '../../../../../src/domains/file/core/search/excerpt.js';

const FILLER = 'Iron and steel and coal. ';

describe('the excerpt of a passage', () => {
  it('is the whole of a short passage', () => {
    expect(excerptOf('A short one.', 'anything')).toBe('A short one.');
  });

  it('begins a little before the first word of the query, in another form or without its accent', () => {
    const excerpt = excerptOf(`${FILLER.repeat(40)}Les écoles municipales. ${FILLER.repeat(40)}`, 'ecole municipal');

    expect(excerpt.indexOf('écoles')).toBeGreaterThan(50);
    expect(excerpt.indexOf('écoles')).toBeLessThan(160);
  });

  it('is the beginning where no word fits', () => {
    expect(excerptOf(FILLER.repeat(40), 'zebra')).toMatch(/^Iron and steel .*…$/);
  });

  it('ends with the passage where the word stands at its end', () => {
    expect(excerptOf(`${FILLER.repeat(40)}zebra`, 'zebra')).toMatch(/^….*zebra$/);
  });

  it('cuts no sign in two', () => {
    const excerpt = excerptOf('𝒜'.repeat(1_000), 'x');

    expect(excerpt).not.toMatch(/\p{Surrogate}/u);
  });
});
