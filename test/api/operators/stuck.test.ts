import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openApi, type TestApi, VIEWER } from '../setup.js';

let api: TestApi;
beforeAll(async () => {
  api = await openApi();
  api.engine.queueStatus = { pollers: [{ identity: 'w', seenAt: new Date() }], backlog: 0, oldestMs: null };
});
afterAll(() => api.close());
beforeEach(() => api.database.pool.query('TRUNCATE items, job_executions CASCADE'));

interface Stuck {
  items: { id: string; pipeline: string }[];
  capped: boolean;
  asOf: string | null;
}

async function stuck(query = ''): Promise<Stuck> {
  const response = await api.call({ url: `/api/v1/stuck?${query}`, as: VIEWER });
  expect(response.statusCode).toBe(200);
  return response.json<Stuck>();
}

async function make(pipeline: string, state: string, more: { minutes: number; reason?: string }): Promise<string> {
  const id = randomUUID();
  await api.database.pool.query(
    `INSERT INTO items (id, pipeline, owner, state, started, beat_at, updated_at, reason, reason_at)
     SELECT $1, $2, 'ada', $3, true, now() - $4 * m, now() - $4 * m, $5, now() FROM (SELECT interval '1 minute' AS m) AS minute`,
    [id, pipeline, state, more.minutes, more.reason ?? null],
  );
  return id;
}

describe('GET /api/v1/stuck', () => {
  it('lists the stuck items of every pipeline, longest stopped first', async () => {
    const newer = await make('canary', 'FIRST', { minutes: 30 });
    const older = await make('submission', 'TIER1_SCANNING', { minutes: 40 });
    await make('canary', 'FIRST', { minutes: 0 });
    await make('canary', 'AWAITING', { minutes: 50 });

    expect(await stuck()).toMatchObject({ items: [{ id: older }, { id: newer }], capped: false, asOf: null });
    expect(await stuck('pipeline=canary')).toMatchObject({ items: [{ id: newer, pipeline: 'canary' }] });
    expect(await stuck('pipeline=unheard')).toMatchObject({ items: [] });
  });

  it('filters by the reason that the last sweep found, and says when that sweep ended', async () => {
    const wedged = await make('canary', 'FIRST', { minutes: 30, reason: 'wedged' });
    await make('canary', 'FIRST', { minutes: 30, reason: 'backlog' });
    await make('canary', 'FIRST', { minutes: 30 });
    await api.database.pool.query(
      `INSERT INTO job_executions (job, status, timeout_at, ended_at)
       VALUES ('sweep-canary', 'completed', now(), '2026-11-16T12:00:00Z')`,
    );

    expect(await stuck('pipeline=canary&reason=wedged')).toMatchObject({
      items: [{ id: wedged, swept: { reason: 'wedged' } }],
      asOf: '2026-11-16T12:00:00.000Z',
    });
    expect((await stuck('reason=paused')).items).toEqual([]);
  });

  it('shows fifty at most, and says that there are more', async () => {
    await Promise.all(Array.from({ length: 51 }, () => make('canary', 'FIRST', { minutes: 30 })));
    const { items, capped } = await stuck();
    expect([items.length, capped]).toEqual([50, true]);
  });
});
