/** A vocabulary as the model's package has it: each piece of text with the logarithm of its probability. The place in the list is the
 *  number by which the model knows the piece. */
export type Vocabulary = readonly (readonly [piece: string, score: number])[];

export interface SentencePieces {
  /** The numbers of the pieces whose product of probabilities is the highest. */
  encode(text: string): number[];
}

/** The first pieces stand for control signs, such as the end of a sentence. No text has them. */
const RESERVED = 6;

const UNKNOWN = 0;

/** A character outside the vocabulary costs more than every piece, as in SentencePiece, so that it is taken as unknown only where no
 *  piece fits. */
const UNKNOWN_COST = 10;

const SPACE = '▁';

/** Cuts text into pieces in the way of SentencePiece's unigram model. Consecutive unknown characters are one unknown piece. */
export function createSentencePieces(vocabulary: Vocabulary): SentencePieces {
  const numbers = new Map(vocabulary.slice(RESERVED).map(([piece], at) => [piece, at + RESERVED]));
  const longest = Math.max(...vocabulary.map(([piece]) => [...piece].length));
  const unknownScore = Math.min(...vocabulary.map(([, score]) => score)) - UNKNOWN_COST;

  function bestPathOf(signs: readonly string[]): { numbers: Int32Array; starts: Int32Array } {
    const best = new Float64Array(signs.length + 1).fill(Number.NEGATIVE_INFINITY);
    const [pieces, starts] = [new Int32Array(signs.length + 1), new Int32Array(signs.length + 1)];
    best[0] = 0;
    for (let start = 0; start < signs.length; start += 1) {
      let piece = '';
      for (let end = start + 1; end <= Math.min(signs.length, start + longest); end += 1) {
        piece += signs[end - 1]!;
        const number = numbers.get(piece) ?? (end === start + 1 ? UNKNOWN : undefined);
        if (number === undefined) continue;
        const score = best[start]! + (number === UNKNOWN ? unknownScore : vocabulary[number]![1]);
        if (score <= best[end]!) continue;
        best[end] = score;
        pieces[end] = number;
        starts[end] = start;
      }
    }
    return { numbers: pieces, starts };
  }

  return {
    encode(text) {
      const signs = [...normalizeSpaces(text)];
      const path = bestPathOf(signs);
      const found: number[] = [];
      for (let end = signs.length; end > 0; end = path.starts[end]!) {
        const number = path.numbers[end]!;
        if (number !== UNKNOWN || found.at(-1) !== UNKNOWN) found.push(number);
      }
      return found.reverse();
    },
  };
}

function normalizeSpaces(text: string): string {
  const words = text.normalize('NFKC').trim().replace(/\s+/g, SPACE);
  return words === '' ? '' : `${SPACE}${words}`;
}
