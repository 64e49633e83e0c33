import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Estimate } from '../../../../src/core/queue-estimate.js';
import { QUEUE_CAP } from '../../../../src/db/reads/queue.js';
import { makeSubmission } from '../support/submissions.js';
import { ADMIN, ALICE, type TestApi, type Who } from '../../../api/setup.js';
import { openSubmissionApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => {
  api = await openSubmissionApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('TRUNCATE items, holds, breakers, workers CASCADE');
});

interface Positions {
  total: number | null;
  positions: { id: string; skillName: string; position: number; estimate: Estimate }[];
}

async function positions(as: Who = ADMIN): Promise<Positions> {
  const response = await api.call({ url: '/api/v1/submissions/positions', as });
  expect(response.statusCode).toBe(200);
  return response.json<Positions>();
}

/** One that was worked on for so long, at once, so many hours ago; whatever is idle between them. */
async function workedOn(
  ms: number,
  hoursAgo: number,
  state: 'PUBLISHED' | 'NEEDS_REVIEW' = 'PUBLISHED',
): Promise<void> {
  const { pool } = api.database;
  const ago = hoursAgo * 3_600;
  const ends = state === 'PUBLISHED' ? { endedAgo: ago } : {};
  const id = await makeSubmission(pool, {
    state,
    createdAgo: ago,
    ...ends,
    stages: { fetch: ms / 2, scanTier1: ms / 2 },
  });
  await pool.query(
    `UPDATE tasks SET started_at = started_at - $2 * interval '1 second' - CASE stage WHEN 'fetch' THEN $3 ELSE 0 END * interval '1 ms',
       ended_at = ended_at - $2 * interval '1 second' - CASE stage WHEN 'fetch' THEN $3 ELSE 0 END * interval '1 ms'
     WHERE item_id = $1`,
    [id, ago, ms / 2],
  );
}

async function register(worker: string): Promise<void> {
  await api.database.pool.query(
    `INSERT INTO workers (id, name, host, pid, build, pipelines) VALUES ($1, $1, 'h', 1, 'b', '{submission}')`,
    [worker],
  );
}

describe('GET /api/v1/submissions/positions', () => {
  it('refuses what it would not heed', async () => {
    const refused = await api.call({ url: '/api/v1/submissions/positions?ids=x', as: ALICE });
    expect(refused.statusCode).toBe(400);
    expect(refused.json()).toMatchObject({ code: 'invalid_input', errors: [{ path: 'ids' }] });
  });

  it('counts from 1 by level, then turn, then age, and leaves out what stands in no line', async () => {
    const { pool } = api.database;
    await makeSubmission(pool, { name: 'found', priority: -10 });
    await makeSubmission(pool, { name: 'first' });
    await makeSubmission(pool, { name: 'second', owner: 'bob', state: 'TIER2_SCANNING' });
    await makeSubmission(pool, { name: 'urgent', priority: 5 });
    await makeSubmission(pool, { name: 'reviewed', state: 'NEEDS_REVIEW' });
    await makeSubmission(pool, { name: 'parked', parked: true });
    await makeSubmission(pool, { name: 'done', state: 'PUBLISHED', endedAgo: 1 });

    const all = await positions();
    expect(all.total).toBe(4);
    expect(all.positions.map(({ skillName, position }) => `${String(position)} ${skillName}`)).toEqual([
      '1 urgent',
      '2 first',
      '3 second',
      '4 found',
    ]);
    const own = await positions(ALICE);
    expect(own.total).toBe(4);
    expect(own.positions.map(({ position }) => position)).toEqual([1, 2, 4]);
  });

  it('lets owners take turns within a level, after what runs already', async () => {
    const { pool } = api.database;
    for (const name of ['a1', 'a2', 'a3', 'a4']) await makeSubmission(pool, { name });
    const running = await makeSubmission(pool, { name: 'running', priority: -10 });
    await pool.query(`INSERT INTO tasks (item_id, visit, stage, status) VALUES ($1, 1, 'fetch', 'running')`, [running]);
    for (const name of ['b1', 'b2']) await makeSubmission(pool, { name, owner: 'bob' });
    await makeSubmission(pool, { name: 'urgent', priority: 5 });
    await makeSubmission(pool, { name: 'a bit urgent', priority: 1 });

    const all = (await positions()).positions;

    const inTurn = ['urgent', 'a bit urgent', 'a1', 'b1', 'a2', 'b2', 'a3', 'a4'];
    expect(all.map(({ skillName }) => skillName)).toEqual(['running', ...inTurn]);
    for (const { id, position } of all) {
      const shown = await api.call({ url: `/api/v1/submissions/${id}`, as: ADMIN });
      expect(shown.json()).toMatchObject({ queue: { position } });
    }
  });

  it('tells owners their place behind more items of others than are counted', async () => {
    const { pool } = api.database;
    await pool.query(
      `INSERT INTO items (id, pipeline, owner, state, started)
       SELECT uuidv7(interval '-1 hour'), 'submission', 'ada', 'RECEIVED', true FROM generate_series(1, ${QUEUE_CAP + 1})`,
    );
    const id = await makeSubmission(pool, { owner: 'alice', name: 'behind' });

    const own = await positions(ALICE);

    expect(own).toMatchObject({ total: QUEUE_CAP, positions: [{ id, skillName: 'behind', position: 2 }] });
    const shown = await api.call({ url: `/api/v1/submissions/${id}`, as: ALICE });
    expect(shown.json()).toMatchObject({ queue: { position: 2 } });
  });

  it('estimates from how long work took in the last 6 hours, however idle they were', async () => {
    await register('w');
    for (const hoursAgo of [5, 4, 3]) await workedOn(1_200, hoursAgo);
    await workedOn(1_200, 2, 'NEEDS_REVIEW');
    // Too long ago to count.
    for (const hoursAgo of [7, 8, 9, 10, 11]) await workedOn(60_000, hoursAgo);
    await makeSubmission(api.database.pool, { name: 'first' });
    await makeSubmission(api.database.pool, { name: 'second' });
    const basis = { sampleSize: 4, typicalSeconds: 1.2, atOnce: 1 };
    expect((await positions()).positions.map(({ estimate }) => estimate)).toEqual([
      { seconds: 2, why: null, basis },
      { seconds: 3, why: null, basis },
    ]);
  });

  it('counts what ran at once', async () => {
    await register('w');
    for (let n = 0; n < 4; n += 1) await workedOn(10_000, 1);
    await makeSubmission(api.database.pool);
    const [first] = (await positions()).positions;
    expect(first?.estimate.seconds).toBeGreaterThanOrEqual(10);
    expect(first?.estimate.seconds).toBeLessThanOrEqual(11);
    expect(first?.estimate.basis?.atOnce).toBeGreaterThan(3);
  });

  it('says why it can’t estimate', async () => {
    const { pool } = api.database;
    const id = await makeSubmission(pool);
    const why = async () => {
      const { seconds, why } = (await positions()).positions[0]?.estimate ?? {};
      const queue = (await api.call({ url: `/api/v1/submissions/${id}`, as: ALICE })).json<{ queue: object }>().queue;
      expect(queue).toMatchObject({ position: 1, estimate: { seconds, why } });
      return why;
    };
    expect(await why()).toBe('no worker is there at the moment');
    await register('w');
    expect(await why()).toBe('nothing has ended in the last 6 hours');
    await workedOn(1_000, 1);
    expect(await why()).toBe('only 1 ended in the last 6 hours, too few to tell');
    for (const hoursAgo of [2, 3]) await workedOn(1_000, hoursAgo);
    expect(await why()).toBeNull();
    await pool.query(
      `INSERT INTO breakers (pipeline, class, state, stages, reason, next_pass_at, probe_every_ms)
       VALUES ('submission', 'LLM_ERROR', 'open', '{judgeTier2}', 'storm', now() + interval '1 minute', 1000)`,
    );
    expect(await why()).toMatch(/something that the items need fails; the next item is let through at \d{4}-/);
    await api.call({ method: 'POST', url: '/api/v1/admin/queue/pause', as: ADMIN, payload: { reason: 'mending' } });
    expect(await why()).toMatch(/the queue is paused until \d{4}-/);
    await pool.query(`UPDATE items SET paused_until = 'infinity' WHERE id = $1`, [id]);
    expect(await why()).toBe('it is paused');
    await pool.query(`UPDATE workers SET seen_at = now() - interval '10 minutes'`);
    await pool.query(`UPDATE items SET paused_until = NULL WHERE id = $1`, [id]);
    await pool.query('TRUNCATE holds');
    expect(await why()).toBe('no worker is there at the moment');
  });

  it('has none for whoever has nothing in the queue', async () => {
    expect(await positions(ALICE)).toEqual({ total: null, positions: [], degraded: false });
  });
});
