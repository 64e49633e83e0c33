import { afterEach, describe, expect, it } from 'vitest';
import { blockLoop } from '../../support/block-loop.js';
import { until } from '../../support/until.js';
import { openApi, type TestApi, type TestApiOptions } from '../setup.js';

let api: TestApi;
afterEach(() => api.close());

async function ready(options: TestApiOptions, prepare: (api: TestApi) => Promise<unknown> | void = () => undefined) {
  api = await openApi(options);
  await prepare(api);
  return api.call({ url: '/health/ready' });
}

function register(seenSecondsAgo: number, stopped = false) {
  return ({ database }: TestApi) =>
    database.pool.query(
      `INSERT INTO workers (id, name, host, pid, build, pipelines, seen_at, stopped_at)
       VALUES ('w', 'w', 'h', 1, 'b', '{canary}', now() - $1 * interval '1 second', CASE WHEN $2 THEN now() END)`,
      [seenSecondsAgo, stopped],
    );
}

const turning = { lastTurnAt: () => new Date() };

describe('health', () => {
  it('is ok when every part answers', async () => {
    const response = await ready({ dispatcher: turning, watcher: turning }, register(1));
    expect(response.statusCode).toBe(200);
    expect(response.json()).toMatchObject({
      status: 'ok',
      parts: {
        requests: { status: 'ok' },
        postgres: { status: 'ok' },
        temporal: { status: 'ok' },
        dispatcher: { status: 'ok' },
        watcher: { status: 'ok' },
        workers: { status: 'ok', detail: '1 worker is there.' },
      },
    });
  });

  it('shows what operators should know of the settings, and stays ok', async () => {
    const byRules = await ready({ environment: { JUDGE_RULES_MAY_APPROVE: 'true' } }, register(1));
    expect(byRules.json()).toMatchObject({
      status: 'ok',
      remarks: [expect.stringContaining('JUDGE_RULES_MAY_APPROVE=true')],
    });
    await api.close();
    const judge = { JUDGE_PROVIDER: 'anthropic', JUDGE_MODEL: 'm', JUDGE_API_KEY: 'k' };
    const byModel = await ready({ environment: judge }, register(1));
    expect(byModel.json()).toMatchObject({ status: 'ok', remarks: [] });
  });

  it('turns when the process is to stop: others are asked, and this one serves on and hangs up after each answer', async () => {
    const leaving = new AbortController();
    const before = await ready({ leaving: leaving.signal }, register(1));
    expect([before.statusCode, before.headers.connection]).toEqual([200, 'keep-alive']);
    leaving.abort();

    const after = await api.call({ url: '/health/ready' });
    expect([after.statusCode, after.json<{ code: string }>().code]).toEqual([503, 'leaving']);
    const served = await api.call({ url: '/health/live' });
    expect([served.statusCode, served.headers.connection]).toEqual([200, 'close']);
  });

  it('says unknown of what nobody has told yet', async () => {
    const response = await ready({ dispatcher: { lastTurnAt: () => null } }, register(1));
    expect(response.json()).toMatchObject({ status: 'ok', parts: { dispatcher: { status: 'unknown' } } });
  });

  it.each(['away', 'silent'] as const)('is degraded, not down, while Temporal is %s', async (mood) => {
    const response = await ready({}, async (opened) => {
      await register(1)(opened);
      opened.engine.mood = mood;
    });
    expect(response.statusCode).toBe(200);
    expect(response.json()).toMatchObject({
      status: 'degraded',
      parts: { postgres: { status: 'ok' }, temporal: { status: 'away' } },
    });
  });

  it('is degraded when no worker was seen for long, all have signed off, or none ever came', async () => {
    for (const gone of [register(21), register(1, true), () => undefined]) {
      const response = await ready({}, gone);
      expect(response.json()).toMatchObject({ status: 'degraded', parts: { workers: { status: 'away' } } });
      await api.close();
    }
    api = await openApi();
  });

  it('is degraded while requests are shed, and ok when they are served again', async () => {
    const limit = 200;
    await ready({ limits: { maxEventLoopDelayMs: limit } }, register(1));
    async function ask() {
      const response = await api.call({ url: '/health/ready' });
      expect(response.statusCode).toBe(200);
      return response.json<{ status: string; parts: { requests: { status: string } } }>();
    }
    const shedding = await until('requests are shed', async () => {
      blockLoop(5 * limit);
      const health = await ask();
      return health.parts.requests.status === 'away' && health;
    });
    expect(shedding.status).toBe('degraded');

    await until('requests are served', async () => (await ask()).status === 'ok');
  });

  it('is degraded when a sweep is late, and names it', async () => {
    const sentence = 'sweep-canary last got to its end 45 s ago; it is due every 10 s.';
    const late = { id: 'sweep-canary', pipeline: 'canary', silentMs: 45_000, since: 'never', sentence };
    const response = await ready({ sweeps: { late: () => Promise.resolve([late]) } }, register(1));
    expect(response.json()).toMatchObject({
      status: 'degraded',
      parts: { sweeps: { status: 'away', detail: sentence } },
    });
    await api.close();
    const well = await ready({ sweeps: { late: () => Promise.resolve([]) } }, register(1));
    expect(well.json()).toMatchObject({ status: 'ok', parts: { sweeps: { status: 'ok' } } });
  });

  it.each(['dispatcher', 'watcher'])('is degraded when the %s has stopped', async (loop) => {
    const response = await ready({ [loop]: { lastTurnAt: () => new Date(Date.now() - 31_000) } }, register(1));
    expect(response.json()).toMatchObject({ status: 'degraded', parts: { [loop]: { status: 'away' } } });
  });

  it('names the duty of the dispatcher that is late', async () => {
    const dispatcher = { lastTurnAt: () => new Date(Date.now() - 31_000), slowestDuty: () => 'releases' };
    const response = await ready({ dispatcher }, register(1));
    expect(response.json()).toMatchObject({
      status: 'degraded',
      parts: { dispatcher: { detail: 'The dispatcher has not looked for releases for 31 s.' } },
    });
  });

  it('is down only without Postgres, and even then says how the other parts are; the process lives', async () => {
    const response = await ready({ databaseUrl: 'postgresql://nobody@127.0.0.1:1/nothing', dispatcher: turning });
    expect(response.statusCode).toBe(503);
    expect(response.json()).toMatchObject({
      code: 'database_unavailable',
      parts: { postgres: { status: 'away' }, temporal: { status: 'ok' }, workers: { status: 'unknown' } },
    });
    expect((await api.call({ url: '/health/live' })).json()).toEqual({ status: 'ok' });
  });
});
