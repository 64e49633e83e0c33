import type pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { attemptsOf, trailFaults } from '../../../support/facts.js';
import { type Installation, type PartName, startInstallation } from '../../../support/installation.js';
import { until } from '../../../support/until.js';
import { uploaderOf, type Uploader } from '../support/uploader.js';

/** Covers the three stages of a file, in real processes: whichever of them its worker dies in, the file is ready in the end, with each
 *  chunk and each vector once. */
let installation: Installation;
let ada: Uploader;
beforeAll(async () => {
  installation = await startInstallation();
  ada = await uploaderOf(installation, 'ada');
}, 180_000);
afterAll(() => installation.stop());

const locks = new Set<pg.PoolClient>();
afterEach(async () => {
  for (const held of locks) await release(held);
});

/** Locks a table against writers until it is let go of. */
async function lock(table: string): Promise<pg.PoolClient> {
  const client = await installation.pool.connect();
  locks.add(client);
  await client.query(`BEGIN; LOCK TABLE ${table} IN SHARE MODE`);
  return client;
}

async function release(held: pg.PoolClient): Promise<void> {
  locks.delete(held);
  await held.query('ROLLBACK');
  held.release();
}

/** The worker that has reached the table in this stage of the file and waits for it. */
function workerAt(table: string, id: string, stage: string): Promise<PartName> {
  return until(`a worker waits for ${table}`, async () => {
    const { rows } = await installation.pool.query<{ name: PartName }>(
      `SELECT a.application_name AS name FROM pg_locks w JOIN pg_stat_activity a ON a.pid = w.pid
       WHERE w.relation = to_regclass($1::text) AND NOT w.granted
         AND EXISTS (SELECT 1 FROM tasks WHERE item_id = $2 AND stage = $3 AND status = 'running')`,
      [table, id, stage],
    );
    return rows[0]?.name ?? null;
  });
}

interface Stored {
  chunks: number;
  lastSeq: number;
  vectors: number;
  models: number;
  said: number;
  texts: number;
}

async function storedOf(id: string): Promise<Stored | undefined> {
  const { rows } = await installation.pool.query<Stored>(
    `SELECT count(*)::int AS chunks, max(seq)::int AS "lastSeq", count(vector)::int AS vectors, count(DISTINCT model)::int AS models,
       (SELECT chunks FROM files WHERE id = $1) AS said, (SELECT count(*)::int FROM file_texts WHERE file_id = $1) AS texts
     FROM file_chunks WHERE file_id = $1`,
    [id],
  );
  return rows[0];
}

/** Some paragraphs that have a chunk each. */
function textOf(paragraphs: number): string {
  const filler = 'the quiet harbour keeps its boats until the morning tide returns '.repeat(45);
  return Array.from({ length: paragraphs }, (_, n) => `Paragraph ${n} of the long report.\n${filler}`).join('\n\n');
}

describe('a file whose worker is killed', () => {
  it.each([
    ['extract', 'file_texts'],
    ['chunk', 'file_chunks'],
    ['embed', 'file_chunks'],
  ])(
    'in its stage %s is ready in the end, with each chunk and each vector once',
    async (stage, table) => {
      // The stage before writes to the same table, so the lock is taken when that stage is done.
      const isEmbedding = stage === 'embed';
      const held = isEmbedding ? undefined : await lock(table);
      const [id = ''] = await ada.upload([{ name: `${stage}.txt`, text: textOf(12) }]);
      const late = isEmbedding
        ? await until('the chunks are there', async () => ((await storedOf(id))?.chunks ?? 0) > 0 || null).then(() =>
            lock(table),
          )
        : held;
      const worker = await workerAt(table, id, stage);
      const killed = await installation.kill(worker);
      if (late) await release(late);
      await installation.backFrom(worker, killed);
      await ada.reaches(id, 'ready');

      const stored = await storedOf(id);
      expect(stored).toMatchObject({ texts: 1, models: 1 });
      expect(stored?.chunks).toBeGreaterThan(5);
      expect([stored?.lastSeq, stored?.vectors, stored?.said]).toEqual([
        stored?.chunks,
        stored?.chunks,
        stored?.chunks,
      ]);
      const attempts = await attemptsOf(installation.pool, id);
      expect(attempts).toContain(`${stage} crash`);
      expect(attempts.filter((line) => line.endsWith(' done')).sort()).toEqual([
        'chunk done',
        'embed done',
        'extract done',
      ]);
      expect(await trailFaults(installation.pool, id)).toEqual([]);
    },
    240_000,
  );
});
