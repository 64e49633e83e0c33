import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLocalEmbedder } from '../../../../src/adapters/embedder-local.js';
import { createTestDatabase, type TestDatabase } from '../../../support/postgres.js';
import { measureSearch } from './measure-search.js';

const embedder = createLocalEmbedder();
let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => Promise.all([embedder.close(), database.drop()]));

/** The local model embeds 240 texts. Only a hung run gets there, however busy the machine is. */
const WITHIN_MS = 240_000;

it(
  'finds more passages by words and meaning together than by either of them',
  async () => {
    const { passages, queries, words, meaning, hybrid } = await measureSearch(database.pool, embedder);

    expect(passages).toBeGreaterThanOrEqual(120);
    expect(queries).toBeGreaterThanOrEqual(60);
    expect(hybrid.mix).toBeGreaterThan(Math.max(words.mix, meaning.mix));
  },
  WITHIN_MS,
);
