import { Client, Connection } from '@temporalio/client';
import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pathOfBlob } from '../../../../src/adapters/blob-folders.js';
import { createDiskBlobStore } from '../../../../src/adapters/blob-store-disk.js';
import { workflowIdOf } from '../../../../src/core/run.js';
import { blobPrefixOf } from '../../../../src/domains/file/db/blob-key.js';
import type { BlobStore } from '../../../../src/ports/blob-store.js';
import { callerOf, type Caller } from '../../../e2e/caller.js';
import { movesOf } from '../../../support/facts.js';
import { type Installation, startInstallation } from '../../../support/installation.js';
import { until } from '../../../support/until.js';
import { uploaderOf, type Uploader } from '../support/uploader.js';

/** Covers recovery, the clean-up of blobs and the expiry of batches in real processes, as an operator starts them. */
let installation: Installation;
let ada: Uploader;
let root: Caller;
let store: BlobStore;
beforeAll(async () => {
  installation = await startInstallation({ FILE_STALE_AFTER: '1s', STUCK_FILE_THRESHOLD_MS: '1000' });
  [ada, root] = await Promise.all([uploaderOf(installation, 'ada'), callerOf(installation, 'root', ['admin'])]);
  store = await createDiskBlobStore({ folder: join(installation.folder, 'blobs') });
}, 180_000);
afterAll(async () => {
  await store.close();
  await installation.stop();
});

/** Runs the schedule now and comes back with the result of a run that began after that. */
async function run(schedule: string): Promise<Record<string, unknown>> {
  const { rows } = await installation.pool.query<{ last: string }>(
    'SELECT COALESCE(max(id), 0)::text AS last FROM job_executions',
  );
  return until(`${schedule} has run`, async () => {
    await root.post(`/api/v1/schedules/${schedule}/trigger`, {});
    const ended = await installation.pool.query<{ result: Record<string, unknown> }>(
      `SELECT result FROM job_executions WHERE job = $1 AND id > $2 AND status = 'completed' ORDER BY id DESC LIMIT 1`,
      [schedule, rows[0]?.last],
    );
    return ended.rows[0]?.result ?? null;
  });
}

/** As if the blob had been there for two days. */
function age(key: string): void {
  const then = new Date(Date.now() - 2 * 86_400_000);
  utimesSync(join(installation.folder, 'blobs', ...pathOfBlob(key)), then, then);
}

async function statesOf(ids: readonly string[]): Promise<(string | undefined)[]> {
  const { rows } = await installation.pool.query<{ id: string; state: string }>(
    'SELECT id, state FROM items WHERE id = ANY ($1)',
    [ids],
  );
  return ids.map((id) => rows.find((row) => row.id === id)?.state);
}

describe('a file whose run is lost with its workers', () => {
  it('is found by the sweep, goes back to the queue with one more rescue, and is ready in the end', async () => {
    await Promise.all([installation.takeAway('worker-1'), installation.takeAway('worker-2')]);
    const [id = ''] = await ada.upload([{ name: 'lost.txt', text: 'The harbour keeps its boats until morning.' }]);
    const connection = await Connection.connect({ address: installation.temporalAddress });
    const handle = new Client({ connection }).workflow.getHandle(
      workflowIdOf({ pipeline: 'file', itemId: id, epoch: 1 }),
    );
    await handle.terminate('lost with its workers');
    await connection.close();
    installation.release('worker-1');
    installation.release('worker-2');

    await until('the sweep has rescued it', async () => {
      await root.post('/api/v1/schedules/sweep-file/trigger', {});
      const { rows } = await installation.pool.query<{ rescues: number }>('SELECT rescues FROM items WHERE id = $1', [
        id,
      ]);
      return rows[0]?.rescues === 1 || null;
    });
    await ada.reaches(id, 'ready');
    expect(await movesOf(installation.pool, id)).toContain('queued>queued');
  }, 240_000);
});

describe('a blob whose row was never committed', () => {
  it('is deleted by the clean-up once it is a day old, and a younger one is not', async () => {
    const key = () => `${blobPrefixOf('ada')}${uuidv7()}`;
    const [orphan, young] = [key(), key()];
    for (const each of [orphan, young]) await store.put(each, Readable.from([Buffer.from('bytes')]), { sizeBytes: 5 });
    age(orphan);

    expect(await run('orphan-cleanup')).toMatchObject({ orphanBlobs: { total: 1, deleted: 1, errors: 0 } });

    expect(await store.find(orphan)).toBeNull();
    expect(await store.find(young)).not.toBeNull();
    const { rowCount } = await installation.pool.query('SELECT 1 FROM files WHERE blob_key = $1', [orphan]);
    expect(rowCount).toBe(0);
  }, 240_000);
});

describe('a batch whose time is over', () => {
  it('expires: files without bytes are deleted, and uploaded ones are kept and processed', async () => {
    const texts = ['one', 'two', 'three', 'four', 'five'].map((word) => `Chapter ${word} of the harbour book.`);
    const { batchId, files } = await ada.register(texts.map((text, n) => ({ name: `${n}.txt`, text })));
    for (const [at, file] of files.slice(0, 2).entries()) await ada.send(file, texts[at] ?? '');
    await installation.pool.query(`UPDATE upload_batches SET expires_at = now() - interval '1 hour' WHERE id = $1`, [
      batchId,
    ]);

    expect(await run('batch-timeout')).toMatchObject({ expiredBatches: 1, deletedFiles: 3, queuedFiles: 2 });

    expect(await ada.get(`/api/v2/uploads/batches/${batchId}`)).toMatchObject({ status: 'expired' });
    const ids = files.map(({ fileId }) => fileId);
    for (const id of ids.slice(0, 2)) await ada.reaches(id, 'ready');
    expect(await statesOf(ids)).toEqual(['ready', 'ready', undefined, undefined, undefined]);
  }, 240_000);
});
