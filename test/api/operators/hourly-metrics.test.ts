import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countAll } from '../../support/figures.js';
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
  it('says null of hours that were not counted, and figures of the others', async () => {
    const before = (await api.call({ url, as: VIEWER })).json<Answer>();
    expect(before.hours).toHaveLength(48);
    expect(before.hours.every(({ figures }) => figures === null)).toBe(true);

    await submit(api, ALICE);
    const { id } = await submit(api, ALICE);
    await api.call({ method: 'POST', url: `/api/v1/items/${id}/cancel`, as: ALICE });
    await countAll(api.database.pool);

    const after = (await api.call({ url, as: VIEWER })).json<Answer>();
    const known = after.hours.flatMap(({ figures }) => figures ?? []);
    expect(known.reduce((sum, { received }) => sum + received, 0)).toBe(2);
    expect(after.hours.at(-1)?.figures).toBeNull();
    expect(known.at(-1)).toMatchObject({ finished: 0, timedOut: 0, byClass: {} });
    expect(after.days[0]).toEqual({
      day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) as string,
      figures: {
        ...{ received: 2, finished: 0, failed: 1, timedOut: 0, byClass: {} },
        averageDurationMs: expect.any(Number) as number,
      },
    });
  });

  it('is for operators, and for pipelines there are', async () => {
    expect((await api.call({ url, as: ALICE })).statusCode).toBe(403);
    const unknown = await api.call({ url: '/api/v1/metrics/hours?pipeline=nothing', as: VIEWER });
    expect(unknown.statusCode).toBe(404);
    expect((await api.call({ url: '/api/v1/metrics/hours', as: VIEWER })).statusCode).toBe(400);
  });
});
