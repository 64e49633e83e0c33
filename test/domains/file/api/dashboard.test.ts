import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { blobPrefixOf } from '../../../../src/domains/file/db/blob-key.js';
import { addToScan, beginScan, endScan } from '../../../../src/domains/file/db/orphan-scans.js';
import { ADMIN, ALICE, BOB, openApi, type TestApi, VIEWER, type Who } from '../../../api/setup.js';
import { daysAgo, hoursAgo, makeBatch, makeFile, stateOf } from '../support/files.js';

let api: TestApi;
beforeAll(async () => {
  api = await openApi({ environment: { DASHBOARD_CACHE_TTL: '0' } });
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('TRUNCATE items, upload_batches, orphan_scans, receipts CASCADE');
  api.engine.status = { is: 'gone', how: 'failed' };
  api.engine.started = [];
});

const STUCK = { movedAgo: hoursAgo(1), createdAgo: hoursAgo(2) };

async function get<T>(path: string, as: Who = ALICE): Promise<T> {
  const response = await api.call({ url: `/api/v2/uploads/${path}`, as });
  expect(response.statusCode, response.body).toBe(200);
  return response.json<T>();
}

function post(path: string, as: Who = ALICE, payload?: object) {
  return api.call({ method: 'POST', url: `/api/v2/uploads/${path}`, as, ...(payload && { payload }) });
}

interface Dashboard {
  statusDistribution: Record<string, number>;
  stuckFiles: number;
  [key: string]: unknown;
}

describe('GET /api/v2/uploads/dashboard', () => {
  it('shows every state, zero where there is none, and null where nothing is known', async () => {
    expect(await get('dashboard')).toEqual({
      statusDistribution: {
        ...{ registered: 0, uploaded: 0, queued: 0, extracting: 0, chunking: 0, embedding: 0, ready: 0, failed: 0 },
      },
      ...{ activeBatches: 0, dlqDepth: 0, stuckFiles: 0 },
      queueDepths: { 'file-extract': 0, 'file-chunk': 0, 'file-embed': 0 },
      recentErrors: [],
      metrics: { averageProcessingTime: null, throughput24h: 0, failureRate24h: null },
    });
  });

  it('counts the caller’s files by state, their batches, depths, failures and times', async () => {
    const { pool } = api.database;
    const batchId = await makeBatch(pool);
    await makeBatch(pool, { status: 'expired' });
    for (const state of ['registered', 'uploaded', 'queued', 'extracting', 'extracting', 'chunking', 'embedding']) {
      await makeFile(pool, { state, batchId });
    }
    await makeFile(pool, { state: 'ready', batchId, createdAgo: 70, confirmedAgo: 40, movedAgo: 10 });
    await makeFile(pool, { state: 'ready', batchId, createdAgo: 70, confirmedAgo: 60, movedAgo: 10 });
    await makeFile(pool, {
      state: 'ready',
      batchId,
      createdAgo: daysAgo(3),
      confirmedAgo: daysAgo(2) + 40,
      movedAgo: daysAgo(2),
    });
    const failed = await makeFile(pool, {
      state: 'failed',
      batchId,
      name: 'bad.pdf',
      error: 'broken header',
      movedAgo: 5,
    });
    await makeFile(pool, { state: 'queued', batchId, parked: true });
    await makeFile(pool, { state: 'ready', batchId, deletingAgo: 5 });

    const { recentErrors, ...shown } = await get<Dashboard>('dashboard');
    expect(shown).toEqual({
      statusDistribution: {
        ...{ registered: 1, uploaded: 1, queued: 2, extracting: 2, chunking: 1, embedding: 1, ready: 3, failed: 1 },
      },
      ...{ activeBatches: 1, dlqDepth: 2, stuckFiles: 0 },
      queueDepths: { 'file-extract': 4, 'file-chunk': 1, 'file-embed': 1 },
      metrics: { averageProcessingTime: expect.any(Number) as number, throughput24h: 3, failureRate24h: 25 },
    });
    expect(recentErrors).toEqual([
      {
        fileId: failed.id,
        fileName: 'bad.pdf',
        error: 'broken header',
        timestamp: expect.stringMatching(/Z$/) as string,
      },
    ]);
  });

  it('averages the time from confirmation over the last 100 ready files', async () => {
    const { pool } = api.database;
    const batchId = await makeBatch(pool);
    for (let n = 0; n < 100; n += 1) {
      await makeFile(pool, { state: 'ready', batchId, createdAgo: 90, confirmedAgo: 40, movedAgo: 10 });
    }
    await makeFile(pool, { state: 'ready', batchId, createdAgo: 9_000, confirmedAgo: 9_000, movedAgo: 4_000 });
    await pool.query(
      `UPDATE files f SET confirmed_at = i.ended_at - interval '30 seconds' FROM items i WHERE i.id = f.id AND f.confirmed_at > now() - interval '1 hour'`,
    );
    const { metrics } = await get<{ metrics: object }>('dashboard');
    expect(metrics).toMatchObject({ averageProcessingTime: 30_000 });
  });

  it('shows ten errors at most, the newest first', async () => {
    for (let n = 0; n < 12; n += 1) {
      await makeFile(api.database.pool, { state: 'failed', name: `${n}.pdf`, error: 'x', createdAgo: 100 + n });
    }
    const { recentErrors } = await get<{ recentErrors: { fileName: string }[] }>('dashboard');
    expect(recentErrors.map(({ fileName }) => fileName)).toEqual([...Array(10).keys()].map((n) => `${n}.pdf`));
  });

  it('counts as stuck what recovery counts: silent for the pipeline’s threshold, in a state that a run drives', async () => {
    const { pool } = api.database;
    for (const state of ['queued', 'extracting', 'chunking', 'embedding']) await makeFile(pool, { state, ...STUCK });
    for (const state of ['registered', 'uploaded', 'ready', 'failed']) await makeFile(pool, { state, ...STUCK });
    await makeFile(pool, { state: 'extracting', createdAgo: hoursAgo(2), movedAgo: 60 * 29 });
    expect(await get('dashboard')).toMatchObject({ stuckFiles: 4 });
  });
});

describe('whose files a caller sees', () => {
  beforeEach(async () => {
    const { pool } = api.database;
    await makeFile(pool, { state: 'extracting', owner: 'alice', name: 'alice.pdf', ...STUCK });
    await makeFile(pool, { state: 'extracting', owner: 'bob', name: 'bob.pdf', ...STUCK });
    await makeFile(pool, { state: 'failed', owner: 'bob', name: 'secret.pdf', error: 'secret' });
    await makeFile(pool, { owner: 'bob', createdAgo: daysAgo(2) });
    const scanId = await beginScan(pool, true);
    const key = `${blobPrefixOf('bob')}lost`;
    await addToScan(pool, { scanId, batch: 0, orphans: [{ ownerKey: blobPrefixOf('bob'), key, sizeBytes: 7 }] });
    await endScan(pool, scanId);
  });

  it('is their own alone, on every route', async () => {
    const dashboard = await get<Dashboard>('dashboard');
    expect(dashboard).toMatchObject({ stuckFiles: 1, dlqDepth: 0, recentErrors: [], activeBatches: 1 });
    expect(Object.values(dashboard.statusDistribution).reduce((sum, each) => sum + each, 0)).toBe(1);
    expect(await get('stuck')).toMatchObject({ total: 1, files: [{ fileName: 'alice.pdf' }] });
    expect(await get('orphans')).toMatchObject({
      ...{ orphanBlobs: { count: 0, totalSize: 0, samples: [] }, abandonedUploads: { count: 0, oldestAge: null } },
    });
    expect((await post('stuck/retry-all')).json()).toMatchObject({ retriedCount: 1 });
    expect(await get('dashboard', BOB)).toMatchObject({ stuckFiles: 1, dlqDepth: 1 });
  });

  it.each(['dashboard', 'stuck', 'orphans'])('refuses a user who asks for others: %s', async (path) => {
    for (const owner of ['bob', 'all']) {
      const refused = await api.call({ url: `/api/v2/uploads/${path}?owner=${owner}`, as: ALICE });
      expect([refused.statusCode, refused.json<{ code: string }>().code]).toEqual([403, 'not_allowed']);
    }
    expect((await api.call({ url: `/api/v2/uploads/${path}` })).statusCode).toBe(401);
  });

  it('is whose an admin names, or everybody’s', async () => {
    expect(await get('dashboard', ADMIN)).toMatchObject({ stuckFiles: 0 });
    expect(await get('dashboard?owner=bob', ADMIN)).toMatchObject({ stuckFiles: 1, dlqDepth: 1 });
    expect(await get('dashboard?owner=all', VIEWER)).toMatchObject({ stuckFiles: 2, dlqDepth: 1 });
    expect(await get('stuck?owner=all', ADMIN)).toMatchObject({ total: 2 });
    expect(await get('orphans?owner=all', ADMIN)).toMatchObject({
      orphanBlobs: { count: 1 },
      abandonedUploads: { count: 1 },
    });
    expect((await post('stuck/retry-all?owner=all', ALICE)).statusCode).toBe(403);
    expect((await post('stuck/retry-all', VIEWER)).statusCode).toBe(403);
    expect((await post('stuck/retry-all?owner=all', ADMIN)).json()).toMatchObject({ retriedCount: 2 });
  });
});

describe('GET /api/v2/uploads/stuck', () => {
  interface Stuck {
    files: { id: string; stuckDuration: number; diagnosis: { reason: string; sentence: string } }[];
    total: number;
  }

  it('shows stuck files with why, the longest stopped first', async () => {
    const { pool } = api.database;
    const second = await makeFile(pool, {
      state: 'chunking',
      rescues: 2,
      createdAgo: hoursAgo(3),
      movedAgo: hoursAgo(1),
    });
    const first = await makeFile(pool, {
      state: 'extracting',
      name: 'old.pdf',
      createdAgo: hoursAgo(3),
      movedAgo: hoursAgo(2),
    });
    const shown = await get<Stuck>('stuck');

    expect(shown.total).toBe(2);
    expect(shown.files.map(({ id }) => id)).toEqual([first.id, second.id]);
    expect(shown.files[0]).toMatchObject({
      fileName: 'old.pdf',
      status: 'extracting',
      retryCount: 0,
      batchId: first.batchId,
    });
    expect(shown.files[1]).toMatchObject({ retryCount: 2 });
    expect(shown.files[0]?.stuckDuration).toBeGreaterThanOrEqual(7_200_000);
    expect(shown.files[0]?.diagnosis.reason).toBe('no_worker');
    expect(shown.files[0]?.diagnosis.sentence).not.toBe('');
  });

  it('leads from page to page by the Link header, and counts the whole on each', async () => {
    for (let n = 0; n < 5; n += 1)
      await makeFile(api.database.pool, { state: 'queued', ...STUCK, movedAgo: hoursAgo(1) + n });
    const ids: string[] = [];
    let url: string | undefined = '/api/v2/uploads/stuck?limit=2';
    while (url !== undefined) {
      const response = await api.call({ url, as: ALICE });
      const { files, total } = response.json<Stuck>();
      expect(total).toBe(5);
      ids.push(...files.map(({ id }) => id));
      url = /^<([^>]+)>; rel="next"$/.exec(String(response.headers['link'] ?? ''))?.[1];
    }
    expect(new Set(ids).size).toBe(5);
    expect((await api.call({ url: '/api/v2/uploads/stuck?cursor=x', as: ALICE })).statusCode).toBe(400);
  });
});

describe('POST /api/v2/uploads/stuck/:fileId/retry', () => {
  it('queues a stuck file anew, counts it, and starts its run', async () => {
    const { id } = await makeFile(api.database.pool, { state: 'chunking', rescues: 1, ...STUCK });
    const response = await post(`stuck/${id}/retry`);

    expect(response.statusCode, response.body).toBe(200);
    expect(response.json()).toEqual({
      success: true,
      fileId: id,
      previousStatus: 'chunking',
      newStatus: 'queued',
      retryCount: 2,
    });
    expect(await stateOf(api.database.pool, id)).toBe('queued');
    expect(api.engine.started).toMatchObject([{ itemId: id, epoch: 2 }]);
  });

  it.each(['ready', 'failed'])('refuses a file that is %s', async (state) => {
    const { id } = await makeFile(api.database.pool, { state, ...STUCK });
    const response = await post(`stuck/${id}/retry`);
    expect([response.statusCode, response.json<{ code: string }>().code]).toEqual([400, 'invalid_input']);
    expect(await stateOf(api.database.pool, id)).toBe(state);
  });

  it('answers a file of somebody else as one that never was, after the same statements', async () => {
    const { id } = await makeFile(api.database.pool, { state: 'chunking', owner: 'bob', ...STUCK });
    const unknown = '00000000-0000-7000-8000-000000000000';
    const [foreign, none] = [await post(`stuck/${id}/retry`), await post(`stuck/${unknown}/retry`)];
    const withoutId = (body: string) => ({ ...(JSON.parse(body) as object), requestId: '' });
    expect(foreign.statusCode).toBe(404);
    expect(withoutId(foreign.body.replaceAll(id, unknown))).toEqual(withoutId(none.body));
    expect(await stateOf(api.database.pool, id)).toBe('chunking');
  });

  it('refuses a file that lives with its diagnosis, and one that waits for its upload', async () => {
    api.engine.status = { is: 'alive', wedgedBy: null };
    const { id } = await makeFile(api.database.pool, { state: 'chunking', ...STUCK });
    const alive = await post(`stuck/${id}/retry`);
    expect(alive.statusCode).toBe(409);
    expect(alive.json()).toMatchObject({ code: 'still_alive', diagnosis: { reason: expect.any(String) as string } });

    const registered = await makeFile(api.database.pool, STUCK);
    const waits = await post(`stuck/${registered.id}/retry`);
    expect(waits.statusCode).toBe(409);
    expect(waits.json()).toMatchObject({ diagnosis: { reason: 'awaiting_upload' } });
  });

  it('allows and counts a retry whose budget is spent', async () => {
    const { id } = await makeFile(api.database.pool, { state: 'embedding', rescues: 3, ...STUCK });
    expect((await post(`stuck/${id}/retry`)).json()).toMatchObject({ success: true, retryCount: 4 });
  });
});

describe('POST /api/v2/uploads/stuck/retry-all', () => {
  it('queues all stuck files below the cap, and skips those at the cap', async () => {
    const { pool } = api.database;
    const below = [];
    for (const [n, state] of ['queued', 'extracting', 'chunking', 'embedding'].entries()) {
      below.push(await makeFile(pool, { state, rescues: n % 3, ...STUCK }));
    }
    const spent = await makeFile(pool, { state: 'extracting', rescues: 3, ...STUCK });
    const young = await makeFile(pool, { state: 'extracting' });
    const response = await post('stuck/retry-all');

    expect(response.json()).toEqual({ success: true, retriedCount: 4, skippedCount: 1, errors: [] });
    const { rows } = await pool.query(
      `SELECT i.state, i.rescues, i.epoch, i.started, i.start_after IS NOT NULL AS "isWanted",
         (SELECT count(*)::int FROM receipts r WHERE r.item_id = i.id AND r.epoch = 2 AND r.result = 'waiting' AND r.reason <> '') AS receipts,
         (SELECT count(*)::int FROM audit a WHERE a.item_id = i.id AND a.trigger = 'rescue' AND a.actor = 'alice') AS entries
       FROM items i WHERE id = ANY ($1) ORDER BY id`,
      [below.map(({ id }) => id)],
    );
    const marked = { state: 'queued', epoch: 2, started: false, isWanted: true, receipts: 1, entries: 1 };
    expect(rows).toEqual([1, 2, 3, 1].map((rescues) => ({ ...marked, rescues })));
    expect(await stateOf(pool, spent.id)).toBe('extracting');
    expect(await stateOf(pool, young.id)).toBe('extracting');
    expect((await post('stuck/retry-all')).json()).toMatchObject({ retriedCount: 0, skippedCount: 1 });
  });

  it('has the starts paced, so that they come one after the other', async () => {
    for (let n = 0; n < 30; n += 1) await makeFile(api.database.pool, { state: 'queued', ...STUCK });
    await post('stuck/retry-all');
    const { rows } = await api.database.pool.query<{ span: number; times: number }>(
      `SELECT extract(epoch FROM max(start_after) - min(start_after))::float8 AS span, count(DISTINCT start_after)::int AS times FROM items`,
    );
    expect(rows[0]?.span).toBeCloseTo(29 * 0.04, 2);
    expect(rows[0]?.times).toBe(30);
  });

  it('skips files whose runs the last sweep found alive', async () => {
    const { pool } = api.database;
    const { id } = await makeFile(pool, { state: 'queued', ...STUCK });
    await pool.query(`UPDATE items SET reason = 'backlog', reason_at = now() WHERE id = $1`, [id]);
    expect((await post('stuck/retry-all')).json()).toMatchObject({ retriedCount: 0, skippedCount: 1 });
    await pool.query(`UPDATE items SET reason = 'workflow_closed' WHERE id = $1`, [id]);
    expect((await post('stuck/retry-all')).json()).toMatchObject({ retriedCount: 1, skippedCount: 0 });
  });

  it('names a file that cannot be retried, and retries the others', async () => {
    const { pool } = api.database;
    const files = [];
    for (let n = 0; n < 5; n += 1) files.push(await makeFile(pool, { state: 'queued', ...STUCK }));
    const broken = files[2]?.id ?? '';
    await pool.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF NEW.item_id = '${broken}' THEN RAISE 'refused'; END IF; RETURN NEW; END $$;
       CREATE TRIGGER refuse BEFORE INSERT ON receipts FOR EACH ROW EXECUTE FUNCTION refuse();`,
    );
    const response = await post('stuck/retry-all');
    await pool.query('DROP TRIGGER refuse ON receipts; DROP FUNCTION refuse');

    const error = 'it could not be retried';
    expect(response.json()).toEqual({
      success: false,
      retriedCount: 4,
      skippedCount: 0,
      errors: [{ fileId: broken, error }],
    });
    expect(await stateOf(pool, broken)).toBe('queued');
  });

  it('works while Temporal is away', async () => {
    api.engine.mood = 'away';
    await makeFile(api.database.pool, { state: 'queued', ...STUCK });
    expect((await post('stuck/retry-all')).json()).toMatchObject({ retriedCount: 1 });
    api.engine.mood = 'well';
  });
});

describe('orphan blobs and abandoned uploads', () => {
  it('are unknown and not zero before the first scan', async () => {
    expect(await get('orphans')).toEqual({
      ...{ lastScanTime: null, orphanBlobs: null, abandonedUploads: { count: 0, oldestAge: null } },
    });
  });

  it('are shown as the last finished scan found them', async () => {
    const { pool } = api.database;
    const scanId = await beginScan(pool, true);
    const ownerKey = blobPrefixOf('alice');
    const orphans = Array.from({ length: 12 }, (_, n) => ({ ownerKey, key: `${ownerKey}${n + 10}`, sizeBytes: 5 }));
    await addToScan(pool, { scanId, batch: 0, orphans });
    expect(await get('orphans')).toMatchObject({ lastScanTime: null, orphanBlobs: null });
    await endScan(pool, scanId);
    await makeFile(pool, { createdAgo: daysAgo(2) });

    const shown = await get<{ orphanBlobs: { samples: string[] }; abandonedUploads: { oldestAge: number } }>('orphans');
    expect(shown).toMatchObject({
      lastScanTime: expect.stringMatching(/Z$/) as string,
      orphanBlobs: { count: 12, totalSize: 60 },
      abandonedUploads: { count: 1 },
    });
    expect(shown.orphanBlobs.samples).toEqual(orphans.slice(0, 10).map(({ key }) => key));
    expect(shown.abandonedUploads.oldestAge / 1_000).toBeCloseTo(daysAgo(2), -2);
  });

  it('are looked for again when an admin asks, without deleting unless that is asked for', async () => {
    expect((await post('orphans/scan', ALICE, {})).statusCode).toBe(403);
    const first = await post('orphans/scan', ADMIN);
    expect([first.statusCode, first.json()]).toMatchObject([202, { job: 'orphan-cleanup', joined: false }]);
    expect((await post('orphans/scan', ADMIN, { dryRun: true })).json()).toMatchObject({ joined: true });
    await post('orphans/scan', ADMIN, { dryRun: false });
    expect(api.jobs.started.map(({ key, input }) => ({ key, input }))).toEqual([
      { key: 'look', input: { dryRun: true, scopes: ['orphanBlobs'] } },
      { key: 'look', input: { dryRun: true, scopes: ['orphanBlobs'] } },
      { key: 'delete', input: { dryRun: false, scopes: ['orphanBlobs'] } },
    ]);
  });
});
