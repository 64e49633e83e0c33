import { describe, expect, it } from 'vitest';
import { fuseHits } from '../../../../../src/domains/file/core/search/fuse-hits.js';

describe('the hits of words and meaning together', () => {
  it('are one list, in which a passage that both have found has the scores of both', () => {
    const hits = fuseHits(
      {
        byWords: [
          { fileId: 'a', seq: 1, share: 0.6 },
          { fileId: 'b', seq: 1, share: 0.5 },
        ],
        byMeaning: [
          { fileId: 'c', seq: 1, nearness: 0.8 },
          { fileId: 'b', seq: 1, nearness: 0.5 },
        ],
      },
      0.5,
    );

    expect(hits).toEqual([
      { fileId: 'b', seq: 1, score: 0.75, foundBy: ['words', 'meaning'] },
      { fileId: 'a', seq: 1, score: 0.6, foundBy: ['words'] },
      { fileId: 'c', seq: 1, score: 0.4, foundBy: ['meaning'] },
    ]);
  });

  it('lose nothing to a passage of the opposite meaning', () => {
    expect(fuseHits({ byWords: [], byMeaning: [{ fileId: 'a', seq: 1, nearness: -0.2 }] })[0]!.score).toBe(0);
  });
});
