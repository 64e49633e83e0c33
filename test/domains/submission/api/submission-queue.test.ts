import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../../support/until.js';
import { makeSubmission } from '../support/submissions.js';
import { ADMIN, ALICE, REVIEWER, type TestApi, VIEWER } from '../../../api/setup.js';
import { openSubmissionApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => {
  api = await openSubmissionApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('TRUNCATE items, figures, holds, breakers, workers CASCADE');
  api.engine.queueStatus = A_WORKER;
});

const A_WORKER = { pollers: [{ identity: 'w', seenAt: new Date() }], backlog: 0, oldestMs: null };

const URL = '/api/v1/admin/queue/status';
const PAUSE = '/api/v1/admin/queue/pause';

interface Status {
  health: string;
  why: string[];
  paused: { until: string; reason: string; setBy: string } | null;
  waiting: number;
  workers: number | null;
  throughput: object;
  recentHours: { hour: string; figures: object | null }[];
  stuck: { items: { id: string; diagnosis: { reason: string; sentence: string } }[]; capped: boolean };
  failedShelf: object;
}

async function status(): Promise<Status> {
  const response = await api.call({ url: URL, as: VIEWER });
  expect(response.statusCode).toBe(200);
  return response.json<Status>();
}

interface Diagnosed {
  diagnosis: { reason: string; sentence: string };
}

/** The diagnosis without ages, which grow from one question to the next. */
function wordsOf({ diagnosis }: Diagnosed): string {
  return `${diagnosis.reason}: ${diagnosis.sentence.replaceAll(/[\d.]+ (?:ms|s|min|h)\b/g, '…')}`;
}

describe('GET /api/v1/admin/queue/status', () => {
  it('says that an empty queue is well, and shows unknown hours as null', async () => {
    expect(await status()).toMatchObject({
      ...{ health: 'ok', why: [], paused: null, stuck: { items: [], capped: false } },
      throughput: { totalReceived: 0, totalFinished: 0, totalFailed: 0, totalTimedOut: 0, asOf: null },
      failedShelf: { count: 0, parked: 0, poison: 0, exhausted: 0, capped: false },
    });
    expect((await status()).recentHours.map(({ figures }) => figures)).toEqual(Array(24).fill(null));
  });

  it('shows hours with their timeouts and classes, and all that was ever counted', async () => {
    const { pool } = api.database;
    await pool.query(`UPDATE figure_cursors SET as_of = now(), begins_at = now() - interval '9 days'`);
    await pool.query(
      `INSERT INTO figures (span, at, pipeline, kind, stage, outcome, class, count, sum_ms, buckets)
       SELECT s.span, s.at, f.pipeline, kind, stage, outcome, class, count * times, sum_ms, '{}' FROM (VALUES
         ('submission', 'move', '', 'RECEIVED', 'created', 9, 0), ('submission', 'end', '', 'PUBLISHED', '', 4, 4000),
         ('submission', 'end', '', 'REJECTED', '', 1, 1000), ('submission', 'attempt', 'fetch', 'error', 'SCAN_TIMEOUT', 2, 0),
         ('submission', 'attempt', 'judgeTier2', 'error', 'LLM_ERROR', 1, 0), ('canary', 'end', '', 'DONE', '', 99, 0)
       ) AS f (pipeline, kind, stage, outcome, class, count, sum_ms)
       CROSS JOIN (VALUES ('hour', date_trunc('hour', now(), 'UTC'), 1), ('total', '-infinity', 10)) AS s (span, at, times)`,
    );
    const { throughput, recentHours } = await status();
    expect(throughput).toEqual({
      ...{ totalReceived: 90, totalFinished: 40, totalFailed: 10, totalTimedOut: 20 },
      asOf: expect.any(String) as string,
    });
    expect(recentHours[0]?.figures).toEqual({
      ...{ received: 9, finished: 4, failed: 1, timedOut: 2, averageDurationMs: 1_000 },
      byClass: { SCAN_TIMEOUT: 2, LLM_ERROR: 1 },
    });
  });

  it('lists what is stuck with its diagnosis, those first that stopped longest ago, and no more than fifty', async () => {
    const { pool } = api.database;
    await makeSubmission(pool, { state: 'TIER1_SCANNING', beatAgo: 10 });
    await makeSubmission(pool, { state: 'NEEDS_REVIEW', beatAgo: 86_400 });
    expect((await status()).stuck.items).toEqual([]);
    const older = await makeSubmission(pool, { state: 'TIER2_SCANNING', beatAgo: 1_200 });
    await makeSubmission(pool, { state: 'TIER1_SCANNING', beatAgo: 600 });

    const { stuck, health, why } = await status();
    expect(stuck).toMatchObject({ capped: false, items: [{ id: older, state: 'TIER2_SCANNING' }, {}] });
    expect(stuck.items[0]?.diagnosis).toMatchObject({ reason: 'backlog' });
    expect(stuck.items[0]?.diagnosis.sentence).toMatch(/^It waits for a free worker \(its run is alive; /);
    const page = (await api.call({ url: `/api/v1/items/${older}`, as: VIEWER })).json<Diagnosed>();
    expect(stuck.items.slice(0, 1).map(wordsOf)).toEqual([wordsOf(page)]);
    expect([health, why]).toEqual(['degraded', ['items are stuck']]);

    for (let n = 0; n < 50; n += 1) await makeSubmission(pool, { state: 'TIER1_SCANNING', beatAgo: 900 + n });
    const full = (await status()).stuck;
    expect([full.items.length, full.capped, full.items[0]?.id]).toEqual([50, true, older]);
  });

  it('counts what recovery gave up, and no verdict', async () => {
    const { pool } = api.database;
    await makeSubmission(pool, { parked: true });
    await makeSubmission(pool, { state: 'REJECTED', endedAgo: 1, endReason: 'STUCK_EXHAUSTED' });
    await makeSubmission(pool, { state: 'REJECTED', endedAgo: 1, endReason: 'STUCK_EXHAUSTED' });
    await makeSubmission(pool, { state: 'REJECTED', endedAgo: 1, endReason: 'POISON' });
    await makeSubmission(pool, { state: 'REJECTED', endedAgo: 1 });
    await makeSubmission(pool, { state: 'REJECTED', endedAgo: 1, endReason: 'CANCELLED' });
    await makeSubmission(pool, { state: 'TIER1_FAILED', endedAgo: 1 });
    expect((await status()).failedShelf).toEqual({ count: 4, parked: 1, poison: 1, exhausted: 2, capped: false });
  });

  it('says that Temporal is away', async () => {
    api.engine.mood = 'away';
    // How it is, is asked every few seconds at most.
    const { why } = await until('that is noticed', async () => {
      const seen = await status();
      return seen.health === 'degraded' && seen;
    });
    api.engine.mood = 'well';
    expect(why).toEqual(['Temporal does not answer']);
    await until('that it is back, too', async () => (await status()).health === 'ok');
  });

  it('says that nobody asks for work while submissions wait, and of what broke off that this is why', async () => {
    const { pool } = api.database;
    api.engine.queueStatus = { ...A_WORKER, pollers: [] };
    expect(await status()).toMatchObject({ health: 'ok', why: [], waiting: 0, workers: 0 });
    await makeSubmission(pool, { state: 'NEEDS_REVIEW' });
    expect((await status()).health).toBe('ok');

    const id = await makeSubmission(pool, { state: 'TIER1_SCANNING' });
    await makeSubmission(pool);
    await pool.query(`UPDATE items SET run_ended_at = now() - interval '1 minute' WHERE id = $1`, [id]);
    const { health, why, waiting, stuck } = await status();
    expect([health, waiting]).toEqual(['degraded', 2]);
    expect(why).toEqual(['no worker asks for work, and 2 items wait for one', 'items are stuck']);
    expect(stuck.items).toMatchObject([{ id, diagnosis: { reason: 'no_worker' } }]);

    api.engine.queueStatus = A_WORKER;
    expect((await status()).stuck.items).toMatchObject([{ id, diagnosis: { reason: 'workflow_closed' } }]);
  });

  it('takes a worker that has gone silent for none, though Temporal still lists it', async () => {
    const { pool } = api.database;
    await makeSubmission(pool);
    expect(await status()).toMatchObject({ health: 'ok', workers: 1 });
    await pool.query(
      `INSERT INTO workers (id, name, host, pid, build, pipelines, seen_at)
       VALUES ('w', 'frozen', 'h', 1, 'b', '{submission}', now() - interval '10 minutes')`,
    );
    expect(await status()).toMatchObject({
      ...{ health: 'degraded', workers: 0 },
      why: ['no worker asks for work, and 1 item waits for one'],
    });
  });

  it('says that a breaker is open, when the next try is, and how many wait for it', async () => {
    const { pool } = api.database;
    for (const status of ['waiting', 'waiting', 'running']) {
      const id = await makeSubmission(pool, { state: 'TIER2_SCANNING' });
      await pool.query(`INSERT INTO tasks (item_id, visit, stage, status) VALUES ($1, 1, 'judgeTier2', $2)`, [
        id,
        status,
      ]);
    }
    await makeSubmission(pool);
    await pool.query(
      `INSERT INTO breakers (pipeline, class, state, stages, reason, next_pass_at, probe_every_ms) VALUES
         ('submission', 'LLM_ERROR', 'open', '{judgeTier2}', 'storm', now() + interval '1 minute', 1000),
         ('submission', 'NETWORK', 'closed', '{fetch}', 'over', now() - interval '1 day', 1000),
         ('canary', 'LLM_ERROR', 'open', '{judgeTier2}', 'another', now(), 1000)`,
    );
    expect(await status()).toMatchObject({
      health: 'degraded',
      why: [
        expect.stringMatching(
          /^the breaker for LLM_ERROR is open until a try succeeds, the next at \d{4}-.*Z; 2 items wait for it$/,
        ) as string,
      ],
    });
  });

  it('is for viewers and admins', async () => {
    expect((await api.call({ url: URL, as: ALICE })).statusCode).toBe(403);
    expect((await api.call({ url: URL })).statusCode).toBe(401);
  });
});

describe('POST and DELETE /api/v1/admin/queue/pause', () => {
  async function pause(payload: object): Promise<number> {
    return (await api.call({ method: 'POST', url: PAUSE, as: ADMIN, payload })).statusCode;
  }

  async function lastsMs(): Promise<number> {
    return Date.parse((await status()).paused?.until ?? '') - Date.now();
  }

  it('pauses for an hour unless told otherwise, and resumes', async () => {
    expect(await pause({ reason: 'mending the judge' })).toBe(200);
    const { paused, health, why } = await status();
    expect(paused).toMatchObject({ reason: 'mending the judge', setBy: 'adam' });
    expect([health, why]).toEqual([
      'degraded',
      [expect.stringMatching(/paused until .*: mending the judge/) as string],
    ]);
    expect(Math.round((await lastsMs()) / 60_000)).toBe(60);

    // As clients do that name JSON in every request.
    const headers = { 'content-type': 'application/json' };
    const resume = () => api.call({ method: 'DELETE', url: PAUSE, as: ADMIN, headers, payload: '' });
    expect((await resume()).json()).toEqual({ paused: null });
    expect((await status()).paused).toBeNull();
    expect((await resume()).statusCode).toBe(409);
  });

  it('pauses for a day at most, and for a reason', async () => {
    expect(await pause({ for: '24h', reason: 'moving house' })).toBe(200);
    expect(Math.round((await lastsMs()) / 3_600_000)).toBe(24);
    expect(await pause({ for: '25h', reason: 'moving house' })).toBe(400);
    expect(await pause({ for: '1h' })).toBe(400);
  });

  it('is for admins alone', async () => {
    for (const as of [ALICE, REVIEWER, VIEWER]) {
      const request = { url: PAUSE, as, payload: { reason: 'no' } } as const;
      expect((await api.call({ ...request, method: 'POST' })).statusCode).toBe(403);
      expect((await api.call({ url: PAUSE, as, method: 'DELETE' })).statusCode).toBe(403);
    }
  });
});
