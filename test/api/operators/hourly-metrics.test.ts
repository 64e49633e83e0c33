import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rollUpHours } from '../../../src/db/reads/hourly-metrics.js';
import { PIPELINES } from '../../../src/domains/tables.js';
import { ALICE, openApi, submit, type TestApi, VIEWER } from '../setup.js';

let api: TestApi;
beforeAll(async () => {
  api = await openApi();
});
afterAll(() => api.close());

const url = '/api/v1/metrics/hours?pipeline=canary';

interface Answer {
  hours: { hour: string; figures: { received: number; averageDurationMs: number | null } | null }[];
  days: { day: string; figures: unknown }[];
}

describe('GET /api/v1/metrics/hours', () => {
  it('says null of hours nobody computed, and figures of those somebody did', async () => {
    const before = (await api.call({ url, as: VIEWER })).json<Answer>();
    expect(before.hours).toHaveLength(48);
    expect(before.hours.every(({ figures }) => figures === null)).toBe(true);

    await submit(api, ALICE);
    const { id } = await submit(api, ALICE);
    await api.call({ method: 'POST', url: `/api/v1/items/${id}/cancel`, as: ALICE });
    await rollUpHours(api.database.pool, PIPELINES, 48 * 3_600_000);
    await api.database.pool.query(
      `INSERT INTO metrics_daily (pipeline, day, received, finished, failed, timed_out, by_class, duration_ms)
       VALUES ('canary', '2026-01-02', 9, 3, 1, 2, '{"DB_ERROR": 4}', 8000)`,
    );

    const after = (await api.call({ url, as: VIEWER })).json<Answer>();
    const known = after.hours.flatMap(({ figures }) => figures ?? []);
    expect(known.reduce((sum, { received }) => sum + received, 0)).toBe(2);
    expect(after.hours.at(-1)?.figures).toBeNull();
    expect(after.days).toEqual([
      {
        day: '2026-01-02',
        figures: {
          received: 9,
          finished: 3,
          failed: 1,
          timedOut: 2,
          byClass: { DB_ERROR: 4 },
          averageDurationMs: 2_000,
        },
      },
    ]);
  });

  it('is for operators, and for pipelines there are', async () => {
    expect((await api.call({ url, as: ALICE })).statusCode).toBe(403);
    const unknown = await api.call({ url: '/api/v1/metrics/hours?pipeline=nothing', as: VIEWER });
    expect(unknown.statusCode).toBe(404);
    expect((await api.call({ url: '/api/v1/metrics/hours', as: VIEWER })).statusCode).toBe(400);
  });
});
