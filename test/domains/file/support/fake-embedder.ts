import { AppError } from '../../../../src/core/errors.js';
import type { Embedder } from '../../../../src/ports/embedder.js';

export interface FakeEmbedder extends Embedder {
  /** The texts of each call. */
  calls: string[][];
  /** Refuses to embed from now on. */
  breakDown(): void;
  recover(): void;
}

/** Texts are near to each other that share letters. */
export function createFakeEmbedder({ model = 'letters', dimension = 32 } = {}): FakeEmbedder {
  const calls: string[][] = [];
  let isBroken = false;
  return {
    ...{ model, dimension, calls },
    async embed(texts) {
      calls.push([...texts]);
      if (isBroken) throw new AppError('model_unavailable', 'the fake embedder is broken');
      return texts.map((text) => vectorOf(text, dimension));
    },
    breakDown() {
      isBroken = true;
    },
    recover() {
      isBroken = false;
    },
    async close() {},
  };
}

function vectorOf(text: string, dimension: number): Float32Array {
  const vector = new Float32Array(dimension).fill(0.01);
  for (const sign of text.toLowerCase()) vector[sign.codePointAt(0)! % dimension]! += 1;
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}
