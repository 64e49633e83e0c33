import { beforeEach, describe, expect, it } from 'vitest';
import { createBatchTimeoutPage } from '../../../../../src/domains/file/activities/jobs/batch-timeout.js';
import { createFileDeletionPage } from '../../../../../src/domains/file/activities/jobs/file-deletion.js';
import { turnPages } from '../../../../support/job-pages.js';
import { useSpine } from '../../../../support/spine.js';
import { useCleaning } from '../../support/cleaning.js';
import { hoursAgo, makeBatch, makeFile, stateOf } from '../../support/files.js';

const spine = useSpine();
beforeEach(async () => {
  await spine.pool.query('TRUNCATE items, upload_batches, outbox, totals CASCADE');
});

const OVER = { createdAgo: hoursAgo(25), expiresIn: -hoursAgo(1) };

async function statusOf(batch: string): Promise<unknown> {
  const { rows } = await spine.pool.query(
    'SELECT status, unconfirmed, ended_at IS NOT NULL AS "hasEnded" FROM upload_batches WHERE id = $1',
    [batch],
  );
  return rows[0];
}

describe('the job batch-timeout', () => {
  it('expires active batches whose time is over, and no others', async () => {
    const { deps } = useCleaning(spine);
    const over = await makeBatch(spine.pool, OVER);
    const older = await makeBatch(spine.pool, { ...OVER, createdAgo: hoursAgo(49) });
    const young = await makeBatch(spine.pool);
    const completed = await makeBatch(spine.pool, { ...OVER, status: 'completed' });
    const { record } = await turnPages(createBatchTimeoutPage(deps), {});

    expect(record.counts).toMatchObject({ expiredBatches: 2, deletedFiles: 0 });
    expect(Number(record.counts['averageBatchAge']) / hoursAgo(37_000)).toBeCloseTo(1, 2);
    for (const id of [over, older])
      expect(await statusOf(id)).toEqual({ status: 'expired', unconfirmed: 0, hasEnded: true });
    expect(await statusOf(young)).toMatchObject({ status: 'active' });
    expect(await statusOf(completed)).toMatchObject({ status: 'completed' });
  });

  it('expires a batch with no files, once', async () => {
    const { deps } = useCleaning(spine);
    await makeBatch(spine.pool, OVER);
    expect((await turnPages(createBatchTimeoutPage(deps), {})).record.counts).toMatchObject({ expiredBatches: 1 });
    const { record } = await turnPages(createBatchTimeoutPage(deps), {});
    expect(record).toMatchObject({ isIdle: true, counts: { expiredBatches: 0, deletedFiles: 0, averageBatchAge: 0 } });
  });

  it('deletes registered files with their blobs, and queues those whose bytes are there', async () => {
    const { store, deps } = useCleaning(spine);
    const batchId = await makeBatch(spine.pool, OVER);
    const none = await makeFile(spine.pool, { batchId });
    const broken = await makeFile(spine.pool, { batchId, sizeBytes: 10 });
    const complete = await makeFile(spine.pool, { batchId, sizeBytes: 10 });
    const uploaded = await makeFile(spine.pool, { batchId, state: 'uploaded' });
    store.add(broken.blobKey, 3);
    [complete, uploaded].forEach(({ blobKey }) => store.add(blobKey, 10));
    const { record } = await turnPages(createBatchTimeoutPage(deps), {});

    expect(record.counts).toMatchObject({ expiredBatches: 1, deletedFiles: 2, queuedFiles: 2 });
    expect(await Promise.all([none, broken, complete, uploaded].map(({ id }) => stateOf(spine.pool, id)))).toEqual([
      ...[null, null, 'queued', 'queued'],
    ]);
    expect(store.keys()).toEqual([complete.blobKey, uploaded.blobKey].sort());
    expect(await statusOf(batchId)).toEqual({ status: 'expired', unconfirmed: 0, hasEnded: true });
  });

  it('keeps files in processing, ready and failed states', async () => {
    const { store, deps } = useCleaning(spine);
    const batchId = await makeBatch(spine.pool, OVER);
    const kept = [];
    for (const state of ['queued', 'extracting', 'chunking', 'embedding', 'ready', 'failed']) {
      kept.push(await makeFile(spine.pool, { batchId, state }));
    }
    kept.forEach(({ blobKey }) => store.add(blobKey));
    const { record } = await turnPages(createBatchTimeoutPage(deps), {});

    expect(record.counts).toMatchObject({ expiredBatches: 1, deletedFiles: 0 });
    expect(await Promise.all(kept.map(({ id }) => stateOf(spine.pool, id)))).toEqual([
      ...['queued', 'extracting', 'chunking', 'embedding', 'ready', 'failed'],
    ]);
    expect(store.keys()).toHaveLength(6);
  });

  it('is finished by the next run when it died, or the store was away, half-way', async () => {
    const { store, deps } = useCleaning(spine);
    const batchId = await makeBatch(spine.pool, OVER);
    const files = [await makeFile(spine.pool, { batchId }), await makeFile(spine.pool, { batchId })];
    store.isAway = true;
    const { record } = await turnPages(createBatchTimeoutPage(deps), {});
    expect(record.errors).toHaveLength(1);
    expect(await statusOf(batchId)).toMatchObject({ status: 'expired', unconfirmed: 2 });

    store.isAway = false;
    const again = await turnPages(createBatchTimeoutPage(deps), {});
    expect(again.record).toMatchObject({ errors: [], counts: { expiredBatches: 0, deletedFiles: 2 } });
    expect(await Promise.all(files.map(({ id }) => stateOf(spine.pool, id)))).toEqual([null, null]);
  });
});

describe('the job file-deletion', () => {
  it('deletes blob and row of every file that is marked, and no other', async () => {
    const { store, deps } = useCleaning(spine);
    const marked = await makeFile(spine.pool, { state: 'ready', deletingAgo: 60 });
    const kept = await makeFile(spine.pool, { state: 'ready' });
    [marked, kept].forEach(({ blobKey }) => store.add(blobKey));
    const { record } = await turnPages(createFileDeletionPage(deps), {});

    expect(record.counts).toEqual({ deleted: 1 });
    expect(store.keys()).toEqual([kept.blobKey]);
    expect(await stateOf(spine.pool, marked.id)).toBeNull();
    expect((await turnPages(createFileDeletionPage(deps), {})).record.isIdle).toBe(true);
  });

  it('keeps the row as long as the blob cannot be deleted, and deletes the others', async () => {
    const { store, deps } = useCleaning(spine);
    const marked = [];
    for (const ago of [90, 60, 30]) marked.push(await makeFile(spine.pool, { state: 'failed', deletingAgo: ago }));
    marked.forEach(({ blobKey }) => store.add(blobKey));
    const [first, second] = marked;
    store.refused.add(second?.blobKey ?? '');
    const { record, last } = await turnPages(createFileDeletionPage(deps), {});

    expect(record.counts).toEqual({ deleted: 2 });
    expect([record.errors.length, last.isWhole]).toEqual([1, false]);
    expect(await stateOf(spine.pool, first?.id ?? '')).toBeNull();
    expect(await stateOf(spine.pool, second?.id ?? '')).toBe('failed');

    store.refused.clear();
    await turnPages(createFileDeletionPage(deps), {});
    expect(store.keys()).toEqual([]);
    expect(await stateOf(spine.pool, second?.id ?? '')).toBeNull();
  });
});
