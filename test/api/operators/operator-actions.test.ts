import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordOperatorAction } from '../../../src/db/spine/operator-actions.js';
import { ADMIN, ALICE, openApi, REVIEWER, type TestApi, VIEWER } from '../setup.js';

const PATH = '/api/v1/operator-actions';

let api: TestApi;
beforeAll(async () => {
  api = await openApi();
  await api.call({
    ...{ method: 'POST', url: '/api/v1/pipelines/canary/pause', as: ADMIN },
    payload: { for: '2h', reason: 'the disk is full' },
  });
  await api.call({ method: 'POST', url: '/api/v1/pipelines/canary/resume', as: ADMIN, payload: {} });
  await api.call({
    ...{ method: 'POST', url: '/api/v1/schedules/sweep-canary/trigger', as: { sub: 'eve', roles: ['admin'] } },
    payload: { reason: 'now' },
  });
});
afterAll(() => api.close());

interface Page {
  actions: { id: string; action: string; target: string; actor: string; at: string }[];
  nextCursor: string | null;
}

async function pageOf(query: Record<string, string> = {}): Promise<Page> {
  const response = await api.call({ url: `${PATH}?${new URLSearchParams(query).toString()}`, as: VIEWER });
  expect(response.statusCode, response.body).toBe(200);
  return response.json<Page>();
}

async function actsIn(query: Record<string, string>): Promise<string[]> {
  return (await pageOf(query)).actions.map(({ action, target }) => `${action} ${target}`);
}

const [PAUSED, RESUMED] = ['pause pipeline:canary', 'resume pipeline:canary'];
const TRIGGERED = 'trigger schedule:sweep-canary';

describe('the list of operator actions', () => {
  it('is for viewers and admins', async () => {
    const statuses = [VIEWER, ADMIN, REVIEWER, ALICE].map(async (as) => (await api.call({ url: PATH, as })).statusCode);
    expect(await Promise.all(statuses)).toEqual([200, 200, 403, 403]);
    expect((await api.call({ url: PATH })).statusCode).toBe(401);
  });

  it('says who did what to which object, when and why, the newest first', async () => {
    const { actions, nextCursor } = await pageOf();
    expect(actions.map(({ action, target }) => `${action} ${target}`)).toEqual([TRIGGERED, RESUMED, PAUSED]);
    expect(actions.at(-1)).toEqual({
      ...{ id: expect.stringMatching(/^\d+$/) as string, action: 'pause', target: 'pipeline:canary' },
      ...{ reason: 'the disk is full', actor: 'adam', actorType: 'admin' },
      metadata: { until: expect.any(String) as string },
      at: expect.any(String) as string,
    });
    expect(nextCursor).toBeNull();
  });

  it('is filtered by object, by person and by act', async () => {
    expect(await actsIn({ target: 'pipeline:canary' })).toEqual([RESUMED, PAUSED]);
    expect(await actsIn({ actor: 'eve' })).toEqual([TRIGGERED]);
    expect(await actsIn({ action: 'pause' })).toEqual([PAUSED]);
    expect(await actsIn({ action: 'pause', actor: 'eve' })).toEqual([]);
  });

  it('is filtered by time: from the first moment on, and before the last', async () => {
    const { rows } = await api.database.pool.query<{ id: string; at: Date }>(
      `INSERT INTO operator_actions (action, target, actor, actor_type, at)
       SELECT 'act-' || day, 'test', 'tim', 'admin', '2020-01-01T00:00:00Z'::timestamptz + day * interval '1 day'
       FROM generate_series(0, 2) day RETURNING id::text, at`,
    );
    const [first, second, third] = rows.map(({ at }) => at.toISOString());
    expect(await actsIn({ target: 'test', since: second ?? '' })).toEqual(['act-2 test', 'act-1 test']);
    expect(await actsIn({ target: 'test', until: second ?? '' })).toEqual(['act-0 test']);
    expect(await actsIn({ target: 'test', since: first ?? '', until: third ?? '' })).toEqual([
      'act-1 test',
      'act-0 test',
    ]);
  });

  it('is read page by page, each action once, and a cursor fits its own filters alone', async () => {
    const actor = { id: 'pat', type: 'admin' } as const;
    for (let n = 0; n < 5; n += 1) {
      await recordOperatorAction(api.database.pool, { action: 'look', target: `page:${n}`, actor });
    }
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await pageOf({ actor: 'pat', limit: '2', ...(cursor !== null && { cursor }) });
      seen.push(...page.actions.map(({ target }) => target));
      cursor = page.nextCursor;
    } while (cursor !== null && seen.length < 10);
    expect(seen).toEqual(['page:4', 'page:3', 'page:2', 'page:1', 'page:0']);

    const { nextCursor } = await pageOf({ actor: 'pat', limit: '2' });
    const other = await api.call({ url: `${PATH}?actor=eve&cursor=${nextCursor ?? ''}`, as: VIEWER });
    expect(other.statusCode).toBe(400);
    expect(other.json()).toMatchObject({ code: 'invalid_input', errors: [{ path: 'cursor' }] });
  });

  it.each([
    'limit=0',
    'limit=101',
    'since=yesterday',
    'until=soon',
    `target=${'x'.repeat(201)}`,
    'actor=',
    'colour=red',
  ])('refuses %s, and names the field', async (query) => {
    const response = await api.call({ url: `${PATH}?${query}`, as: VIEWER });
    expect(response.statusCode).toBe(400);
    expect(response.json()).toMatchObject({ code: 'invalid_input', errors: [{ path: query.split('=')[0] }] });
  });
});
