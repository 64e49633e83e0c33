import { beforeEach, describe, expect, it } from 'vitest';
import { createOrphanCleanupPage } from '../../../../../src/domains/file/activities/jobs/orphan-cleanup.js';
import { retryItem } from '../../../../../src/db/spine/control.js';
import { blobPrefixOf } from '../../../../../src/domains/file/db/blob-key.js';
import { cleanUpMetrics } from '../../../../../src/domains/file/db/clean-up-totals.js';
import { findOrphanReport } from '../../../../../src/domains/file/db/orphan-scans.js';
import { file } from '../../../../../src/domains/file/table.js';
import { turnPages } from '../../../../support/job-pages.js';
import { ADA, useSpine } from '../../../../support/spine.js';
import { useCleaning } from '../../support/cleaning.js';
import { daysAgo, hoursAgo, makeBatch, makeFile, stateOf } from '../../support/files.js';

const spine = useSpine();
beforeEach(async () => {
  await spine.pool.query('TRUNCATE items, upload_batches, orphan_scans, outbox, totals CASCADE');
});

const ALICE = blobPrefixOf('alice');

async function totalOf(name: string): Promise<unknown> {
  const part = cleanUpMetrics.find((each) => each.name === name);
  return (await part?.read({ sql: spine.pool, totals: [] }))?.[0]?.measured;
}

describe('orphan blobs', () => {
  it('finds blobs in the store that no row has, and deletes them in the store', async () => {
    const { store, clean } = useCleaning(spine);
    store.add(`${ALICE}lost`);
    const { counts, errors } = await clean();

    expect(counts).toMatchObject({ orphanBlobs: { total: 1, deleted: 1, errors: 0 } });
    expect(counts['executionTime']).toEqual(expect.any(Number));
    expect(errors).toEqual([]);
    expect(store.keys()).toEqual([]);
    expect(await totalOf('orphan_blobs_deleted_total')).toBe(1);
  });

  it('leaves blobs that a row has, younger ones, and blobs of others in the same store', async () => {
    const { store, clean } = useCleaning(spine);
    const { blobKey } = await makeFile(spine.pool, { state: 'ready' });
    store.add(blobKey);
    store.add(`${ALICE}young`, 10, 23);
    store.add('rasters/other');
    const { counts } = await clean();

    expect(counts).toMatchObject({ orphanBlobs: { total: 0, deleted: 0, errors: 0 } });
    expect(store.keys()).toEqual([blobKey, `${ALICE}young`, 'rasters/other'].sort());
  });

  it('reports blobs that cannot be deleted, and goes on with the others and with the other scopes', async () => {
    const { store, clean } = useCleaning(spine);
    ['a', 'b', 'c'].forEach((name) => store.add(`${ALICE}${name}`));
    store.refused.add(`${ALICE}b`);
    const { id } = await makeFile(spine.pool, { createdAgo: hoursAgo(25) });
    const { counts, errors } = await clean();

    expect(counts).toMatchObject({
      orphanBlobs: { total: 3, deleted: 2, errors: 1 },
      abandonedUploads: { deleted: 1 },
    });
    expect(errors).toEqual([expect.stringContaining(`${ALICE}b`)]);
    expect(await stateOf(spine.pool, id)).toBeNull();
  });

  it('reports a store that is away, and goes on with the scope that does without it', async () => {
    const { store, clean } = useCleaning(spine);
    store.isAway = true;
    await makeFile(spine.pool, { state: 'failed', createdAgo: daysAgo(24) });
    const { counts, errors } = await clean();

    expect(errors).toEqual([expect.stringMatching(/^orphanBlobs: .*away/)]);
    expect(counts).toMatchObject({ oldFailures: { warnings: 1 } });
  });

  it('only reports in a dry run', async () => {
    const { store, clean } = useCleaning(spine);
    store.add(`${ALICE}lost`, 70);
    const abandoned = await makeFile(spine.pool, { createdAgo: hoursAgo(25) });
    const failed = await makeFile(spine.pool, { state: 'failed', createdAgo: daysAgo(40), warnedAgo: daysAgo(8) });
    const { counts } = await clean({ input: { dryRun: true } });

    expect(counts).toMatchObject({
      orphanBlobs: { total: 1, deleted: 0 },
      abandonedUploads: { total: 1, deleted: 0 },
      oldFailures: { total: 1, warnings: 0, deleted: 0 },
    });
    expect(store.keys()).toHaveLength(1);
    expect(await stateOf(spine.pool, abandoned.id)).toBe('registered');
    expect(await stateOf(spine.pool, failed.id)).toBe('failed');
    expect(await findOrphanReport(spine.pool, ALICE)).toMatchObject({
      count: 1,
      totalSize: 70,
      samples: [`${ALICE}lost`],
    });
  });
});

describe('two thousand blobs of which a hundred are orphans', () => {
  const WALK = { listed: 150 };

  async function fill(store: ReturnType<typeof useCleaning>['store']) {
    const batchId = await makeBatch(spine.pool);
    const names = Array.from({ length: 2_000 }, (_, n) => String(n).padStart(4, '0'));
    const isLost = (n: number) => n % 20 === 0;
    await spine.pool.query(
      `WITH made AS (INSERT INTO items (id, pipeline, owner, state, ended_at) SELECT gen_random_uuid(), 'file', 'alice', 'ready', now()
         FROM unnest($1::text[]) RETURNING id), numbered AS (SELECT id, row_number() OVER () AS n FROM made)
       INSERT INTO files (id, owner, batch_id, client_id, name, mime_type, size_bytes, blob_key)
       SELECT id, 'alice', $2, id::text, 'a', 'text/plain', 10, ($1::text[])[n] FROM numbered`,
      [names.filter((_, n) => !isLost(n)).map((name) => `${ALICE}${name}`), batchId],
    );
    names.forEach((name) => store.add(`${ALICE}${name}`));
    return { lost: names.filter((_, n) => isLost(n)).map((name) => `${ALICE}${name}`), batchId };
  }

  it('deletes exactly the orphans, with a bounded page, though some are young and rows commit during the scan', async () => {
    const { store, clean } = useCleaning(spine, { listed: 1_000 });
    const { lost, batchId } = await fill(store);
    lost.slice(0, 5).forEach((key) => store.add(key, 10, 1));
    // The row commits after the page was listed and found to have orphans, and before the orphan is deleted.
    const late = lost.slice(30, 33);
    const first = lost[10] ?? '';
    store.onDelete = async (key) => {
      if (key !== first) return;
      for (const blobKey of late) {
        const { id } = await makeFile(spine.pool, { state: 'queued', batchId });
        await spine.pool.query('UPDATE files SET blob_key = $2 WHERE id = $1', [id, blobKey]);
      }
    };
    const { counts, errors } = await clean();

    const spared = new Set([...lost.slice(0, 5), ...late]);
    expect(errors).toEqual([]);
    expect(counts).toMatchObject({ orphanBlobs: { total: 95, deleted: 92 } });
    expect(store.keys().filter((key) => lost.includes(key))).toEqual([...spared].sort());
    expect(store.keys()).toHaveLength(1_908);
    expect(store.largestPage).toBe(1_000);
  });

  it('is right after it was killed half-way and run again', async () => {
    const { store, clean, deps } = useCleaning(spine, WALK);
    const { lost } = await fill(store);
    const killed = new AbortController();
    store.onDelete = (key) => {
      if (key === lost[40]) killed.abort(new Error('killed'));
    };
    await expect(turnPages(createOrphanCleanupPage(deps), { signal: killed.signal })).rejects.toThrow('killed');
    const left = store.keys().length - 1_900;
    expect(left).toBeGreaterThan(40);
    expect(left).toBeLessThan(80);

    const { counts } = await clean();
    expect(counts).toMatchObject({ orphanBlobs: { total: left, deleted: left, errors: 0 } });
    expect(store.keys()).toHaveLength(1_900);
  });

  it('goes on at its place when the time of a run is up, and counts no page twice that is read again', async () => {
    const { store, deps } = useCleaning(spine, WALK);
    const { lost } = await fill(store);
    const page = createOrphanCleanupPage(deps);
    const late = { deadline: new Date(0), input: { dryRun: true } };
    const { signal } = new AbortController();
    const context = { ...late, atMost: null, startedAt: new Date(), signal, beat: () => undefined };
    const first = await page({ ...context, cursor: null });
    const second = await page({ ...context, cursor: 'next' in first ? first.next : null });
    const again = await page({ ...context, cursor: 'next' in first ? first.next : null });
    expect(again.counts['orphanBlobs']).toEqual(second.counts['orphanBlobs']);

    await turnPages(page, { ...late, cursor: 'next' in second ? second.next : null });
    expect(await findOrphanReport(spine.pool, ALICE)).toMatchObject({
      count: 100,
      totalSize: 1_000,
      samples: lost.slice(0, 10),
    });
    expect(await findOrphanReport(spine.pool, null)).toMatchObject({ count: 100 });
    expect(await findOrphanReport(spine.pool, blobPrefixOf('bob'))).toMatchObject({
      count: 0,
      totalSize: 0,
      samples: [],
    });
  });
});

describe('abandoned uploads', () => {
  it('deletes rows and blobs that have been registered for more than a day without a complete blob', async () => {
    const { store, clean } = useCleaning(spine);
    const none = await makeFile(spine.pool, { createdAgo: hoursAgo(25) });
    const broken = await makeFile(spine.pool, { createdAgo: hoursAgo(25), sizeBytes: 10 });
    store.add(broken.blobKey, 4);
    const { counts } = await clean();

    expect(counts).toMatchObject({ abandonedUploads: { total: 2, deleted: 2, queued: 0 } });
    expect([await stateOf(spine.pool, none.id), await stateOf(spine.pool, broken.id)]).toEqual([null, null]);
    expect(store.keys()).toEqual([]);
    expect(await totalOf('abandoned_uploads_deleted_total')).toBe(2);
  });

  it('skips files that were registered within a day, and files that are further on', async () => {
    const { store, clean } = useCleaning(spine);
    const young = await makeFile(spine.pool, { createdAgo: hoursAgo(23) });
    const uploaded = await makeFile(spine.pool, { state: 'uploaded', createdAgo: hoursAgo(30) });
    store.add(uploaded.blobKey);
    const { counts } = await clean();

    expect(counts).toMatchObject({ abandonedUploads: { total: 0, deleted: 0 } });
    expect(await stateOf(spine.pool, young.id)).toBe('registered');
    expect(await stateOf(spine.pool, uploaded.id)).toBe('uploaded');
  });

  it('queues a file whose blob is complete, once, as the system, and counts it in its batch', async () => {
    const { store, clean } = useCleaning(spine);
    const { id, blobKey, batchId } = await makeFile(spine.pool, { createdAgo: hoursAgo(25), sizeBytes: 10 });
    store.add(blobKey, 10);
    const { counts } = await clean();
    await clean();

    expect(counts).toMatchObject({ abandonedUploads: { total: 1, deleted: 0, queued: 1 } });
    const { rows } = await spine.pool.query(
      `SELECT i.state, i.start_after IS NOT NULL AS "isWanted", f.confirmed_at IS NOT NULL AS "isConfirmed", b.unconfirmed, b.status
       FROM items i JOIN files f USING (id) JOIN upload_batches b ON b.id = $2 WHERE i.id = $1`,
      [id, batchId],
    );
    expect(rows).toEqual([{ state: 'queued', isWanted: true, isConfirmed: true, unconfirmed: 0, status: 'completed' }]);
    expect(store.keys()).toEqual([blobKey]);
  });

  it('leaves the row when the blob cannot be deleted, and marks it for the job that finishes deletions', async () => {
    const { store, clean } = useCleaning(spine);
    const { id, blobKey } = await makeFile(spine.pool, { createdAgo: hoursAgo(25) });
    store.add(blobKey, 3);
    store.refused.add(blobKey);
    await clean();

    const { rows } = await spine.pool.query('SELECT deleting_at IS NOT NULL AS "isMarked" FROM files WHERE id = $1', [
      id,
    ]);
    expect(rows).toEqual([{ isMarked: true }]);
  });
});

describe('old failures', () => {
  async function warnings(id: string): Promise<object[]> {
    const { rows } = await spine.pool.query<object>(
      `SELECT kind, owner, mail_to, payload FROM outbox WHERE item_id = $1 AND kind = 'deletion_warned'`,
      [id],
    );
    return rows;
  }

  it('warns the owner once of a file that failed 23 days ago', async () => {
    const { clean } = useCleaning(spine);
    const young = await makeFile(spine.pool, { state: 'failed', createdAgo: daysAgo(22.9) });
    const { id } = await makeFile(spine.pool, { state: 'failed', createdAgo: daysAgo(23.1), email: 'a@example.org' });
    const { counts } = await clean();
    const again = await clean();

    expect(counts).toMatchObject({ oldFailures: { warnings: 1, deleted: 0 } });
    expect(again.counts).toMatchObject({ oldFailures: { warnings: 0, deleted: 0 } });
    expect(await warnings(young.id)).toEqual([]);
    const [warned] = await warnings(id);
    expect(warned).toMatchObject({ owner: 'alice', mail_to: 'a@example.org' });
    const { payload } = warned as { payload: { deletionDate: string } };
    expect(payload).toMatchObject({ userId: 'alice', fileId: id, fileName: 'report.pdf' });
    expect(Date.parse(payload.deletionDate) - Date.now()).toBeGreaterThan(6.99 * 86_400_000);
  });

  it('deletes file and blob after 30 days, and never within 7 days of the warning', async () => {
    const { store, clean } = useCleaning(spine);
    const due = await makeFile(spine.pool, { state: 'failed', createdAgo: daysAgo(31), warnedAgo: daysAgo(7.1) });
    const warnedLate = await makeFile(spine.pool, {
      state: 'failed',
      createdAgo: daysAgo(60),
      warnedAgo: daysAgo(6.9),
    });
    const unwarned = await makeFile(spine.pool, { state: 'failed', createdAgo: daysAgo(60) });
    [due, warnedLate, unwarned].forEach(({ blobKey }) => store.add(blobKey));
    const { counts } = await clean();

    expect(counts).toMatchObject({ oldFailures: { warnings: 1, deleted: 1 } });
    expect(await stateOf(spine.pool, due.id)).toBeNull();
    expect(await stateOf(spine.pool, warnedLate.id)).toBe('failed');
    expect(await warnings(unwarned.id)).toHaveLength(1);
    expect(store.keys()).toEqual([warnedLate.blobKey, unwarned.blobKey].sort());
  });

  it('leaves a file alone that was retried meanwhile, and warns anew when it fails again', async () => {
    const { store, clean } = useCleaning(spine);
    const { id, blobKey } = await makeFile(spine.pool, {
      state: 'failed',
      createdAgo: daysAgo(31),
      warnedAgo: daysAgo(8),
    });
    store.add(blobKey);
    await retryItem(spine.pool, () => file, { itemId: id, actor: ADA });
    expect((await clean()).counts).toMatchObject({ oldFailures: { total: 0 } });
    expect(await stateOf(spine.pool, id)).toBe('queued');

    await spine.pool.query(`UPDATE items SET state = 'failed', ended_at = now() - interval '24 days' WHERE id = $1`, [
      id,
    ]);
    await spine.pool.query(`UPDATE files SET warned_at = now() - interval '32 days' WHERE id = $1`, [id]);
    expect((await clean()).counts).toMatchObject({ oldFailures: { warnings: 1, deleted: 0 } });
    expect(await warnings(id)).toHaveLength(1);
  });
});
