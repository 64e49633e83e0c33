/** A passage that words or vectors have found. */
interface Found {
  fileId: string;
  seq: number;
}

export interface FusedHit extends Found {
  score: number;
  foundBy: ('words' | 'meaning')[];
}

export interface HitsToFuse {
  byWords: readonly (Found & { share: number })[];
  byMeaning: readonly (Found & { nearness: number })[];
}

/** What a passage's nearness counts against the share of the query's words that it has. Measured: `npm run bench -- search`. */
const MEANING_WEIGHT = 1;

/** One list of both, best first. A passage that only one of the two has found has nothing of the other. */
export function fuseHits({ byWords, byMeaning }: HitsToFuse, meaningWeight = MEANING_WEIGHT): FusedHit[] {
  const hits = new Map<string, FusedHit>();
  function add({ fileId, seq }: Found, by: 'words' | 'meaning', score: number): void {
    const key = `${fileId}:${seq}`;
    const hit = hits.get(key) ?? { fileId, seq, score: 0, foundBy: [] };
    hit.score += score;
    hit.foundBy.push(by);
    hits.set(key, hit);
  }
  for (const hit of byWords) add(hit, 'words', hit.share);
  for (const hit of byMeaning) add(hit, 'meaning', meaningWeight * Math.max(0, hit.nearness));
  return [...hits.values()].sort((one, other) => other.score - one.score);
}
