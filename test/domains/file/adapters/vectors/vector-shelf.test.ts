import { describe, expect, it } from 'vitest';
import {
  createVectorShelf,
  type ShelvedFile,
  type VectorShelf,
} from '../../../../../src/domains/file/adapters/vectors/vector-shelf.js';
import { bytesOfVector } from '../../../../../src/domains/file/core/search/vector-bytes.js';
import type { VectorAnswer, VectorPage } from '../../../../../src/domains/file/ports/vector-index.js';

const EAST = Float32Array.of(1, 0);
const NORTH = Float32Array.of(0, 1);
const NORTH_EAST = Float32Array.of(Math.SQRT1_2, Math.SQRT1_2);

/** Two floats of four bytes. */
const VECTOR_BYTES = 8;

function pageOf(fileId: string, ...vectors: Float32Array[]): VectorPage {
  return {
    fileIds: vectors.map(() => fileId),
    seqs: vectors.map((_, at) => at + 1),
    bytes: Uint8Array.from(Buffer.concat(vectors.map(bytesOfVector))),
  };
}

interface Asked {
  owner?: string;
  model?: string;
  files: readonly ShelvedFile[];
  pages?: readonly VectorPage[];
  limit?: number;
}

/** Searches for the east; adds pages of files that the shelf misses. */
function search(shelf: VectorShelf, { owner = 'ann', model = 'm', files, pages = [], limit = 10 }: Asked) {
  const missing = shelf.begin({ owner, model, vector: EAST, files, limit });
  for (const page of pages) if (missing.includes(page.fileIds[0]!)) shelf.add(owner, page);
  return { missing, ...shelf.finish(owner) };
}

function placesOf({ hits }: VectorAnswer): string[] {
  return hits.map(({ fileId, seq }) => `${fileId}${seq}`);
}

const A: ShelvedFile = ['a', 1, 2];
const B: ShelvedFile = ['b', 1, 1];
const PAGES = [pageOf('a', NORTH, EAST), pageOf('b', NORTH_EAST)];

describe('the vectors of an owner', () => {
  it('answer with the nearest first, no more than are wanted', () => {
    const shelf = createVectorShelf(1_000);

    expect(placesOf(search(shelf, { files: [A, B], pages: PAGES }))).toEqual(['a2', 'b1', 'a1']);
    expect(search(shelf, { files: [A, B], limit: 1 })).toMatchObject({
      hits: [{ fileId: 'a', seq: 2, nearness: 1 }],
      vectors: 3,
    });
  });

  it('are asked for once, and a new file alone later', () => {
    const shelf = createVectorShelf(1_000);

    expect(search(shelf, { files: [A], pages: PAGES }).missing).toEqual(['a']);
    expect(search(shelf, { files: [A, B], pages: PAGES }).missing).toEqual(['b']);
    expect(search(shelf, { files: [A, B] }).missing).toEqual([]);
  });

  it('are forgotten with a file that is gone, and asked for again when it has changed', () => {
    const shelf = createVectorShelf(1_000);
    search(shelf, { files: [A, B], pages: PAGES });

    expect(placesOf(search(shelf, { files: [B] }))).toEqual(['b1']);
    expect(shelf.bytes()).toBe(VECTOR_BYTES);
    expect(search(shelf, { files: [['b', 2, 1]], pages: [pageOf('b', NORTH)] })).toMatchObject({
      missing: ['b'],
      hits: [{ nearness: 0 }],
    });
  });

  it('are forgotten when the model changes', () => {
    const shelf = createVectorShelf(1_000);
    search(shelf, { files: [B], pages: PAGES });

    expect(search(shelf, { model: 'other', files: [B] })).toMatchObject({ missing: ['b'], vectors: 0 });
  });

  it('are never found by another owner, even under the id of the same file', () => {
    const shelf = createVectorShelf(1_000);
    search(shelf, { owner: 'ann', files: [A, B], pages: PAGES });

    expect(search(shelf, { owner: 'ben', files: [A, B] })).toEqual({ missing: ['a', 'b'], hits: [], vectors: 0 });
  });

  it('give way to those of the owner that searches, the ones longest unused first', () => {
    const shelf = createVectorShelf(3 * VECTOR_BYTES);
    const single = { files: [B], pages: PAGES };
    search(shelf, { owner: 'ann', ...single });
    search(shelf, { owner: 'ben', ...single });
    search(shelf, { owner: 'ann', ...single });
    search(shelf, { owner: 'cleo', files: [A], pages: PAGES });

    expect(shelf.bytes()).toBe(3 * VECTOR_BYTES);
    expect(search(shelf, { owner: 'ann', ...single }).missing).toEqual([]);
    expect(search(shelf, { owner: 'ben', ...single }).missing).toEqual(['b']);
  });

  it('that find no room are compared all the same, and never kept', () => {
    const shelf = createVectorShelf(VECTOR_BYTES);
    const all = { files: [B, A], pages: PAGES };

    for (const round of [1, 2]) {
      const found = search(shelf, all);
      expect([round, ...placesOf(found)]).toEqual([round, 'a2', 'b1', 'a1']);
      expect(found.vectors).toBe(3);
      expect(shelf.bytes()).toBe(VECTOR_BYTES);
    }
  });

  it('that were read by half are read again', () => {
    const shelf = createVectorShelf(1_000);
    shelf.begin({ owner: 'ann', model: 'm', vector: EAST, files: [A], limit: 5 });
    shelf.add('ann', pageOf('a', NORTH));
    shelf.abandon('ann');

    expect(placesOf(search(shelf, { files: [A], pages: PAGES }))).toEqual(['a2', 'a1']);
  });

  it('are found whole where a file has more of them than it said', () => {
    const shelf = createVectorShelf(1_000);

    for (const round of [1, 2]) {
      const found = placesOf(search(shelf, { files: [['a', 1, 1]], pages: PAGES }));
      expect([round, ...found]).toEqual([round, 'a2', 'a1']);
    }
  });
});
