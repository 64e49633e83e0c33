import { describe, expect, it } from 'vitest';
import { deleteFile } from '../../../../src/domains/file/activities/delete-file.js';
import { insertBatch } from '../../../../src/domains/file/db/batches.js';
import { fileRow } from '../../../../src/domains/file/db/files.js';
import { file as pipeline } from '../../../../src/domains/file/table.js';
import { v7 as uuidv7 } from 'uuid';
import { movesOf } from '../../../support/facts.js';
import { ADA, byHand, useSpine } from '../../../support/spine.js';
import { createMemoryBlobs } from '../support/memory-blobs.js';

const spine = useSpine();

async function setup(files: number) {
  const blobs = createMemoryBlobs();
  const batchId = uuidv7();
  await insertBatch(spine.pool, { id: batchId, owner: 'ada', metadata: {}, files, lastsMs: 60_000 });
  const made: { id: string; blobKey: string }[] = [];
  for (let n = 0; n < files; n += 1) {
    const own = { batchId, owner: 'ada', clientId: String(n), name: 'a.txt', mimeType: 'text/plain', sizeBytes: 3 };
    const row = fileRow({ ...own, sha256: undefined, blobPrefix: 'uploads/x/', email: undefined });
    const id = await byHand(spine.pool, pipeline).make({ row });
    const file = { id, blobKey: `uploads/x/${id}` };
    blobs.kept.set(file.blobKey, Buffer.from('abc'));
    made.push(file);
  }
  const remove = (file: { id: string; blobKey: string }) =>
    deleteFile({ pool: spine.pool, blobs, pipeline }, file, ADA);
  const batch = async () => {
    const { rows } = await spine.pool.query('SELECT status, unconfirmed FROM upload_batches WHERE id = $1', [batchId]);
    return rows[0] as unknown;
  };
  const isThere = async (id: string) =>
    (await spine.pool.query('SELECT 1 FROM files WHERE id = $1', [id])).rowCount === 1;
  return { blobs, files: made, remove, batch, isThere };
}

describe('the deletion of a file', () => {
  it('takes the blob and the row, and counts an unconfirmed file out of its batch', async () => {
    const { blobs, files, remove, batch, isThere } = await setup(2);
    const [first, second] = files;
    if (!first || !second) throw new Error('two files');
    expect(await remove(first)).toBe('deleted');
    expect([blobs.kept.has(first.blobKey), await isThere(first.id)]).toEqual([false, false]);
    expect(await batch()).toEqual({ status: 'active', unconfirmed: 1 });
    expect(await remove(second)).toBe('deleted');
    expect(await batch()).toEqual({ status: 'completed', unconfirmed: 0 });
  });

  it('is harmless a second time, and counts once', async () => {
    const { files, remove, batch } = await setup(2);
    const [first] = files;
    if (!first) throw new Error('two files');
    await remove(first);
    expect(await remove(first)).toBe('deleted');
    expect(await batch()).toEqual({ status: 'active', unconfirmed: 1 });
  });

  it('leaves both while the store is away', async () => {
    const { blobs, files, remove, batch, isThere } = await setup(1);
    const [first] = files;
    if (!first) throw new Error('a file');
    blobs.mood = 'away';
    expect(await remove(first)).toBe('blob_left');
    expect([blobs.kept.has(first.blobKey), await isThere(first.id)]).toEqual([true, true]);
    expect(await batch()).toEqual({ status: 'active', unconfirmed: 1 });
  });

  it('at once by two callers counts once', async () => {
    const { files, remove, batch } = await setup(3);
    const [first] = files;
    if (!first) throw new Error('a file');
    expect(await Promise.all([remove(first), remove(first), remove(first)])).toEqual(['deleted', 'deleted', 'deleted']);
    expect(await batch()).toEqual({ status: 'active', unconfirmed: 2 });
  });

  it('ends the work on a file that a run works on, before its bytes go', async () => {
    const { files, remove, isThere } = await setup(1);
    const [file] = files;
    if (!file) throw new Error('one file');
    await spine.pool.query(`UPDATE items SET state = 'extracting' WHERE id = $1`, [file.id]);

    expect(await remove(file)).toBe('deleted');
    expect(await isThere(file.id)).toBe(false);
    expect(await movesOf(spine.pool, file.id)).toContain('extracting>failed');
  });
});
