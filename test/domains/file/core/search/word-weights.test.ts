import { describe, expect, it } from 'vitest';
import {
  hasOperators,
  type QueryWord,
  weighWords,
  wordsToFind,
} from '../../../../../src/domains/file/core/search/word-weights.js';

function wordOf(query: string, passages: number, isStop = false): QueryWord {
  return { query, passages, isStop };
}

function queriesOf(words: readonly QueryWord[]): string[] {
  return words.map(({ query }) => query);
}

describe('the weight of a word', () => {
  it('rises with its rarity, and is small for a word that a language leaves out', () => {
    const [rare, common, stop] = weighWords([wordOf('rare', 2), wordOf('common', 800), wordOf('the', 2, true)], 1_000);

    expect(rare!.weight).toBeGreaterThan(common!.weight * 10);
    expect(stop!.weight).toBeLessThan(rare!.weight / 5);
  });

  it('is never below nothing, even where more passages have it than are counted', () => {
    expect(weighWords([wordOf('a', 50)], 10)[0]!.weight).toBeGreaterThan(0);
  });
});

describe('the words that passages are looked for by', () => {
  it('are the weightiest, until they have enough passages', () => {
    const words = weighWords([wordOf('common', 900), wordOf('rare', 3), wordOf('some', 60)], 1_000);

    expect(queriesOf(wordsToFind(words, 50))).toEqual(['rare', 'some']);
    expect(queriesOf(wordsToFind(words, 500))).toEqual(['rare', 'some', 'common']);
  });

  it('are one at least, and none that no passage has', () => {
    expect(queriesOf(wordsToFind(weighWords([wordOf('common', 900), wordOf('gone', 0)], 1_000), 1))).toEqual([
      'common',
    ]);
  });
});

describe('operators', () => {
  it.each([
    ['zinc -bath', true],
    ['"zinc bath"', true],
    ['zinc or lead', true],
    ['a red-hot oven', false],
    ['order of the orchid', false],
  ])('in %j: %s', (query, expected) => {
    expect(hasOperators(query)).toBe(expected);
  });
});
