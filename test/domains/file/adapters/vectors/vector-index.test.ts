import { afterAll, describe, expect, it } from 'vitest';
import { createVectorIndex } from '../../../../../src/domains/file/adapters/vectors/vector-index.js';
import { bytesOfVector } from '../../../../../src/domains/file/core/search/vector-bytes.js';
import type { ReadVectors, ReadyFile, VectorPage } from '../../../../../src/domains/file/ports/vector-index.js';

const EAST = Float32Array.of(1, 0);
const NORTH = Float32Array.of(0, 1);

const read: { owner: string; fileIds: string[] }[] = [];
let fault: Error | undefined;

/** Every file has the same two vectors. */
async function* readVectors({ owner, fileIds }: Parameters<ReadVectors>[0]): AsyncIterable<VectorPage> {
  read.push({ owner, fileIds: [...fileIds] });
  for (const fileId of fileIds) {
    yield { fileIds: [fileId], seqs: [1], bytes: bytesOfVector(NORTH) };
    if (fault) throw fault;
    yield { fileIds: [fileId], seqs: [2], bytes: bytesOfVector(EAST) };
  }
}

function fileOf(id: string, version = 1): ReadyFile {
  return { id, version, language: null, chunks: 2 };
}

describe('the index of vectors', () => {
  const index = createVectorIndex({ read: readVectors, maxBytes: 1_000_000 });
  afterAll(() => index.close());

  function search(owner: string, ...files: ReadyFile[]) {
    read.length = 0;
    return index.search({ owner, model: 'm', vector: EAST, files, limit: 3 });
  }

  it('reads only the files that are new since the search before', async () => {
    const first = await search('ann', fileOf('a'));
    await search('ann', fileOf('a'), fileOf('b'));

    expect(first).toEqual({
      hits: [
        { fileId: 'a', seq: 2, nearness: 1 },
        { fileId: 'a', seq: 1, nearness: 0 },
      ],
      vectors: 2,
    });
    expect(read).toEqual([{ owner: 'ann', fileIds: ['b'] }]);
  });

  it('answers searches that are made at once each with its own', async () => {
    const [one, same, other] = await Promise.all([
      search('cleo', fileOf('c')),
      search('cleo', fileOf('c')),
      search('dan', fileOf('d')),
    ]);

    expect(read.toSorted((a, b) => a.owner.localeCompare(b.owner))).toEqual([
      { owner: 'cleo', fileIds: ['c'] },
      { owner: 'dan', fileIds: ['d'] },
    ]);
    expect(same).toEqual(one);
    expect(other.hits.map(({ fileId }) => fileId)).toEqual(['d', 'd']);
  });

  it('fails with the reading, and reads all of it the next time', async () => {
    fault = new Error('the database is away');
    const failed: unknown = await search('eve', fileOf('e')).catch((error: unknown) => error);
    fault = undefined;

    expect(failed).toMatchObject({ message: 'the database is away' });
    expect(await search('eve', fileOf('e'))).toMatchObject({ vectors: 2 });
  });

  it('reads anew after its thread was idle', async () => {
    const brief = createVectorIndex({ read: readVectors, maxBytes: 1_000_000, idleMs: 60_000 });
    await brief.search({ owner: 'flo', model: 'm', vector: EAST, files: [fileOf('f')], limit: 3 });
    // What the end of the idle time does.
    await brief.close();
    read.length = 0;
    const { vectors } = await brief.search({ owner: 'flo', model: 'm', vector: EAST, files: [fileOf('f')], limit: 3 });
    await brief.close();

    expect(vectors).toBe(2);
    expect(read).toHaveLength(1);
  });
});
