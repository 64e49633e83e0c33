import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { beginJob, endJob } from '../../../src/db/recovery/job-executions.js';
import { ADMIN, ALICE, openApi, REVIEWER, type TestApi, VIEWER } from '../setup.js';

let api: TestApi;
beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

interface Listed {
  degraded: boolean;
  schedules: { id: string; inTemporal: boolean | null; state: unknown; lastExecution: unknown }[];
}

async function list(): Promise<Listed> {
  const response = await api.call({ url: '/api/v1/schedules', as: VIEWER });
  expect(response.statusCode).toBe(200);
  return response.json<Listed>();
}

async function actions(): Promise<unknown[]> {
  const { rows } = await api.database.pool.query<object>(
    `SELECT action, target, reason, actor FROM operator_actions ORDER BY id`,
  );
  return rows;
}

describe('GET /api/v1/schedules', () => {
  it('shows when each runs, how it is, and what its last run came to', async () => {
    const { pool } = api.database;
    const begun = await beginJob(pool, { job: 'sweep-canary', runId: 'r', timeoutMs: 9_000 });
    if (!begun.begun) throw new Error('not begun');
    const result = { totalStuck: 2, byStatus: { FIRST: 2 } };
    await endJob(pool, { id: begun.id, status: 'completed', idle: false, result, phases: { pages: 5 }, errors: [] });

    const { degraded, schedules } = await list();

    expect(degraded).toBe(false);
    expect(schedules).toMatchObject([
      {
        id: 'sweep-canary',
        every: '10s',
        runTimeoutMs: 9_000,
        on: true,
        inTemporal: true,
        state: { nextAt: '2026-11-16T12:00:10.000Z', paused: null, actions: 7, skipped: 0, missed: 0, running: [] },
        lastExecution: { status: 'completed', result, phases: { pages: 5 }, runs: 1 },
      },
      { id: 'retention', dailyAt: '04:00', lastExecution: null },
      { id: 'count', every: '5m', taskQueue: 'jobs', on: true },
      { id: 'ask', on: false },
    ]);
  });

  it('tells a schedule that is missing from one nobody can ask about', async () => {
    api.schedules.status = null;
    expect((await list()).schedules[0]).toMatchObject({ inTemporal: false, state: null });
    api.schedules.mood = 'away';
    const { degraded, schedules } = await list();
    expect(degraded).toBe(true);
    expect(schedules[0]).toMatchObject({ inTemporal: null, state: null });
  });

  it('is for viewers and admins', async () => {
    for (const as of [ALICE, REVIEWER]) expect((await api.call({ url: '/api/v1/schedules', as })).statusCode).toBe(403);
  });
});

describe('POST /api/v1/schedules/:id/…', () => {
  it.each(['trigger', 'abort', 'pause', 'resume'])('%s does it, and says who did', async (action) => {
    const url = `/api/v1/schedules/sweep-canary/${action}`;
    const response = await api.call({ method: 'POST', url, as: ADMIN, payload: { reason: 'a look' } });

    expect(response.statusCode).toBe(200);
    expect(response.json()).toMatchObject({ id: 'sweep-canary' });
    const why = action === 'trigger' || action === 'abort' ? '' : ' adam: a look';
    expect(api.schedules.asked).toEqual([`${action} sweep-canary${why}`]);
    expect(await actions()).toEqual([{ action, target: 'schedule:sweep-canary', reason: 'a look', actor: 'adam' }]);
  });

  it('starts no run of a schedule that is switched off, and says what to do', async () => {
    const response = await api.call({ method: 'POST', url: '/api/v1/schedules/ask/trigger', as: ADMIN });
    expect(response.statusCode).toBe(409);
    expect(response.json()).toMatchObject({
      code: 'switched_off',
      detail: expect.stringMatching(/the schedule ask is switched off: remove it from SCHEDULES_OFF/) as string,
    });
    expect([api.schedules.asked, await actions()]).toEqual([[], []]);
    expect((await api.call({ method: 'POST', url: '/api/v1/schedules/ask/abort', as: ADMIN })).statusCode).toBe(200);
  });

  it('answers 503 while Temporal is away, and keeps that it was tried', async () => {
    api.schedules.mood = 'away';
    const response = await api.call({ method: 'POST', url: '/api/v1/schedules/retention/trigger', as: ADMIN });
    expect(response.statusCode).toBe(503);
    expect(response.json()).toMatchObject({ code: 'engine_unavailable', detail: 'Temporal does not answer' });
    expect(response.headers['retry-after']).toBe('5');
    expect(await actions()).toMatchObject([{ action: 'trigger' }, { action: 'trigger-failed' }]);
  });

  it('knows only the schedules there are', async () => {
    const response = await api.call({ method: 'POST', url: '/api/v1/schedules/nothing/pause', as: ADMIN });
    expect(response.statusCode).toBe(404);
    expect(response.json<{ detail: string }>().detail).toContain('sweep-canary, retention');
    expect(await actions()).toEqual([]);
  });

  it('is for admins alone', async () => {
    for (const as of [ALICE, REVIEWER, VIEWER]) {
      const response = await api.call({ method: 'POST', url: '/api/v1/schedules/retention/trigger', as });
      expect(response.statusCode).toBe(403);
    }
    expect(api.schedules.asked).toEqual([]);
  });
});
