/** A word of a query, as it is in the passages of one owner. */
export interface QueryWord {
  /** A `tsquery` for the word in all its forms. */
  query: string;
  /** A stemmer of the owner's languages leaves the word out, as English does with "the". */
  isStop: boolean;
  /** How many passages have it. */
  passages: number;
}

export interface WeighedWord extends QueryWord {
  weight: number;
}

/** A word that one language leaves out may be a word of another, as "die" is. */
const STOP_WEIGHT = 0.1;

/** The rarer a word is, the more it says about what was looked for: the weight of BM25. */
export function weighWords(words: readonly QueryWord[], passages: number): WeighedWord[] {
  return words.map((word) => {
    const rarity = Math.log(1 + (Math.max(passages, word.passages) - word.passages + 0.5) / (word.passages + 0.5));
    return { ...word, weight: word.isStop ? rarity * STOP_WEIGHT : rarity };
  });
}

/** The words whose passages are looked at: the weightiest, until they have enough passages together. A passage that has none of them
 *  has only words that nearly every passage has. */
export function wordsToFind(words: readonly WeighedWord[], enough: number): WeighedWord[] {
  const there = words.filter(({ passages }) => passages > 0).toSorted((one, other) => other.weight - one.weight);
  let sum = 0;
  return there.filter(({ passages }) => {
    const isWanted = sum < enough;
    sum += passages;
    return isWanted;
  });
}

/** Quotes, a minus and "or" say which passages are wanted, so that no other passage may be found by its words. */
export function hasOperators(query: string): boolean {
  return /"|(?:^|\s)-\S|\sor\s/iu.test(query);
}
