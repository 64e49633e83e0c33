import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isAppError } from '../../src/core/errors.js';
import type { Embedder } from '../../src/ports/embedder.js';

export const UNHURRIED = new AbortController().signal;

/** The promises of the port. */
export function embedderContract(name: string, open: () => Promise<Embedder>): void {
  describe(`${name} keeps an embedder's promises`, () => {
    let embedder: Embedder;
    beforeAll(async () => {
      embedder = await open();
    });
    afterAll(() => embedder.close());

    it('gives a vector of its dimension and of length 1 for each text', async () => {
      const vectors = await embedder.embed(['a cat', 'a dog', ''], UNHURRIED);

      expect(vectors.map(({ length }) => length)).toEqual([1, 2, 3].map(() => embedder.dimension));
      for (const vector of vectors) expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
    });

    it('answers in the order of the texts, and the same text with the same vector', async () => {
      const [one, other, again] = await embedder.embed(['the river', 'a tax law', 'the river'], UNHURRIED);

      expect(dotOf(one, again)).toBeCloseTo(1, 5);
      expect(dotOf(one, other)).toBeLessThan(0.99);
    });

    it('answers requests that are made at once each with its own vectors', async () => {
      const alone = await embedder.embed(['bread'], UNHURRIED);
      const [first, second] = await Promise.all([
        embedder.embed(['iron', 'stone'], UNHURRIED),
        embedder.embed(['bread'], UNHURRIED),
      ]);

      expect(first).toHaveLength(2);
      expect(dotOf(second[0], alone[0])).toBeCloseTo(1, 5);
    });

    it('embeds no text with no vector', async () => {
      expect(await embedder.embed([], UNHURRIED)).toEqual([]);
    });

    it('fails in a way that is worth another try when it is stopped', async () => {
      const stopped = await embedder.embed(['a cat'], AbortSignal.abort()).catch((error: unknown) => error);

      expect(isAppError(stopped) && stopped.code).toBe('model_unavailable');
    });
  });
}

export function dotOf(one: Float32Array | undefined, other: Float32Array | undefined): number {
  if (!one || !other) throw new Error('there is no vector');
  return one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0);
}
