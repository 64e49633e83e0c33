import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createReadVectors } from '../../../../../src/domains/file/db/search/read-vectors.js';
import type { VectorPage } from '../../../../../src/domains/file/ports/vector-index.js';
import { createTestDatabase, type TestDatabase } from '../../../../support/postgres.js';
import { createFakeEmbedder } from '../../support/fake-embedder.js';
import { storeFile } from '../../support/ready-files.js';

const embedder = createFakeEmbedder();
let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

async function read(owner: string, fileIds: string[], model = embedder.model): Promise<VectorPage[]> {
  const pages: VectorPage[] = [];
  for await (const page of createReadVectors(database.pool)({ owner, model, fileIds })) pages.push(page);
  return pages;
}

describe('the vectors of files', () => {
  it('come page by page, each chunk once', async () => {
    const texts = Array.from({ length: 1_100 }, (_, at) => `text ${at}`);
    const { id } = await storeFile(database.pool, { owner: 'many', texts, embedder });

    const pages = await read('many', [id]);

    expect(pages.map(({ seqs, bytes }) => [seqs.length, bytes.length])).toEqual([
      [500, 500 * 4 * embedder.dimension],
      [500, 500 * 4 * embedder.dimension],
      [100, 100 * 4 * embedder.dimension],
    ]);
    expect(pages.flatMap(({ seqs }) => seqs)).toEqual(texts.map((_, at) => at + 1));
  });

  it('of another owner, of another model and of chunks without one do not come', async () => {
    const hers = await storeFile(database.pool, { owner: 'ann', texts: ['a'], embedder });
    const bare = await storeFile(database.pool, { owner: 'ben', texts: ['b'] });

    expect(await read('ben', [hers.id, bare.id])).toEqual([]);
    expect(await read('ann', [hers.id], 'another model')).toEqual([]);
    expect(await read('ann', [hers.id])).toHaveLength(1);
  });
});
