import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Json, JsonObject, StageContext } from '../../../../src/ports/stage.js';
import type { Statement } from '../../../../src/ports/sql.js';
import { embedStage } from '../../../../src/domains/file/activities/embed.js';
import { createTestDatabase, type TestDatabase } from '../../../support/postgres.js';
import { createFakeEmbedder, type FakeEmbedder } from '../support/fake-embedder.js';
import { storeFile } from '../support/ready-files.js';

let database: TestDatabase;
let embedder: FakeEmbedder;
beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(() => {
  embedder = createFakeEmbedder();
});
afterAll(() => database.drop());

interface Attempt {
  reports: JsonObject[];
  checkpoints: Json[];
  context: StageContext;
}

/** An attempt whose saves are executed at once, as the engine does. `dies` stands for a worker that ends before its next save. */
function attemptOf(
  fileId: string,
  { isSuperseded = (): boolean => false, signal = new AbortController().signal } = {},
): Attempt {
  const [reports, checkpoints]: [JsonObject[], Json[]] = [[], []];
  async function keep(checkpoint: Json, save?: Statement): Promise<void> {
    if (isSuperseded()) throw new Error('superseded');
    checkpoints.push(checkpoint);
    if (!save) return;
    // The guard of the engine takes parameters of its own behind those of the statement.
    const place = save.values.length + 1;
    await database.pool.query(`WITH guard AS (SELECT $${place}::uuid AS item_id) ${save.text}`, [
      ...save.values,
      fileId,
    ]);
  }
  const context: StageContext = {
    item: { id: fileId, pipeline: 'file', owner: 'ann', visit: 1 },
    ...{ unit: '', attempt: 1, checkpoint: null, signal, keep },
    progress: (report) => reports.push(report),
  };
  return { reports, checkpoints, context };
}

function stage() {
  return embedStage({ reads: database.pool, embedder: async () => embedder });
}

function textsOf(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `text ${at + 1}`);
}

async function chunksOf(fileId: string) {
  const { rows } = await database.pool.query<{ seq: number; model: string | null; vector: Buffer | null }>(
    'SELECT seq, model, vector FROM file_chunks WHERE file_id = $1 ORDER BY seq',
    [fileId],
  );
  return rows;
}

async function save({ save: effect }: Awaited<ReturnType<ReturnType<typeof stage>>>): Promise<void> {
  if (typeof effect !== 'function') throw new Error('expected a function');
  await effect(database.pool);
}

describe('the stage embed', () => {
  it('gives each chunk a vector, 96 at a time, and reports after each batch', async () => {
    const { id } = await storeFile(database.pool, { owner: 'ann', texts: textsOf(200), state: 'embedding' });
    const { context, reports, checkpoints } = attemptOf(id);

    const result = await stage()(context);

    expect(result).toMatchObject({ outcome: 'done', note: { chunks: 200, model: 'letters', dimension: 32 } });
    expect(embedder.calls.map(({ length }) => length)).toEqual([96, 96, 8]);
    expect(reports.map(({ done }) => done)).toEqual([0, 96, 192, 200]);
    expect(checkpoints).toHaveLength(3);
    const [first] = await chunksOf(id);
    const [expected] = await createFakeEmbedder().embed(['text 1'], context.signal);
    expect(first).toMatchObject({ seq: 1, model: 'letters' });
    // Little-endian floats, on whatever machine.
    expect(first?.vector?.readFloatLE(4)).toBeCloseTo(expected![1]!, 6);
    expect((await chunksOf(id)).every(({ vector }) => vector?.length === 128)).toBe(true);
    await save(result);
  });

  it('begins with the first batch that an earlier attempt did not finish', async () => {
    const { id } = await storeFile(database.pool, { owner: 'ann', texts: textsOf(200), state: 'embedding' });
    const earlier = attemptOf(id, { isSuperseded: () => embedder.calls.length > 1 });
    await expect(stage()(earlier.context)).rejects.toThrow('superseded');
    embedder.calls.length = 0;

    const { context, reports } = attemptOf(id);
    await stage()(context);

    expect(embedder.calls.map(([first]) => first)).toEqual(['text 97', 'text 193']);
    expect(reports[0]).toEqual({ done: 96, of: 200 });
  });

  it('replaces the vectors of another model', async () => {
    const { id } = await storeFile(database.pool, { owner: 'ann', texts: ['a', 'b'], embedder });
    embedder = createFakeEmbedder({ model: 'newer', dimension: 8 });

    await stage()(attemptOf(id).context);

    expect((await chunksOf(id)).map(({ model, vector }) => [model, vector?.length])).toEqual([
      ['newer', 32],
      ['newer', 32],
    ]);
  });

  it('embeds the heading together with the text', async () => {
    const texts = [{ title: 'Heating', text: 'Once a year.' }];
    const { id } = await storeFile(database.pool, { owner: 'ann', texts, state: 'embedding' });

    await stage()(attemptOf(id).context);

    expect(embedder.calls).toEqual([['Heating\nOnce a year.']]);
  });

  it('is done at once with a file without text', async () => {
    const { id } = await storeFile(database.pool, { owner: 'ann', texts: [], state: 'embedding' });

    const result = await stage()(attemptOf(id).context);

    expect(result).toMatchObject({ outcome: 'done', note: { chunks: 0 } });
    expect(embedder.calls).toEqual([]);
    await save(result);
  });

  it('cannot be committed while a chunk has no vector', async () => {
    const { id } = await storeFile(database.pool, { owner: 'ann', texts: ['a', 'b'], state: 'embedding' });
    const result = await stage()(attemptOf(id).context);
    await database.pool.query('UPDATE file_chunks SET vector = NULL WHERE file_id = $1 AND seq = 2', [id]);

    await expect(save(result)).rejects.toThrow('1 of 2 chunks have no vector of letters');
  });

  it('fails with the embedder, in a way that is worth another try', async () => {
    const { id } = await storeFile(database.pool, { owner: 'ann', texts: ['a'], state: 'embedding' });
    embedder.breakDown();

    await expect(stage()(attemptOf(id).context)).rejects.toMatchObject({ code: 'model_unavailable' });
  });
});
