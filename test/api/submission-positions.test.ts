import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeSubmission } from '../support/submissions.js';
import { ADMIN, ALICE, openApi, type TestApi, type Who } from './setup.js';

let api: TestApi;
beforeAll(async () => {
  api = await openApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('TRUNCATE items, metrics_hourly, holds CASCADE');
});

interface Positions {
  total: number | null;
  positions: { skillName: string; position: number; estimate: { seconds: number | null; why: string | null } }[];
}

async function positions(as: Who = ADMIN): Promise<Positions> {
  const response = await api.call({ url: '/api/v1/submissions/positions', as });
  expect(response.statusCode).toBe(200);
  return response.json<Positions>();
}

async function ended(count: number, hoursAgo: number): Promise<void> {
  await api.database.pool.query(
    `INSERT INTO metrics_hourly (pipeline, hour, finished, failed)
     VALUES ('submission', now() - $2 * interval '1 hour', $1 / 2, $1 - $1 / 2)`,
    [count, hoursAgo],
  );
}

describe('GET /api/v1/submissions/positions', () => {
  it('counts from 1 over priority, then age, and leaves out what stands in no line', async () => {
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

  it('estimates from the last 6 hours, and says why it can’t', async () => {
    await makeSubmission(api.database.pool);
    const estimate = async () => (await positions()).positions[0]?.estimate;
    expect(await estimate()).toEqual({ seconds: null, why: 'nothing has been counted in the last 6 hours' });
    await ended(100, 7);
    expect(await estimate()).toEqual({ seconds: null, why: 'nothing has been counted in the last 6 hours' });
    await ended(0, 1);
    expect(await estimate()).toEqual({ seconds: null, why: 'nothing has ended in the last 6 hours' });
    await ended(24, 4);
    // One in ten minutes, and a little more for the time that has passed since.
    expect((await estimate())?.seconds).toBeGreaterThanOrEqual(600);
    expect((await estimate())?.seconds).toBeLessThan(660);
    await api.call({ method: 'POST', url: '/api/v1/admin/queue/pause', as: ADMIN, payload: { reason: 'mending' } });
    expect(await estimate()).toMatchObject({ seconds: null, why: expect.stringMatching(/paused until/) as string });
  });

  it('has none for whoever has nothing in the queue', async () => {
    expect(await positions(ALICE)).toEqual({ total: null, positions: [] });
  });
});
