import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { walkReleased } from '../../../src/db/spine/pipeline-pause.js';
import { ADMIN, ALICE, openApi, submit, type TestApi, VIEWER } from '../setup.js';
import { claim, show } from '../walked.js';

let api: TestApi;
beforeAll(async () => {
  api = await openApi();
});
afterAll(() => api.close());

interface Shown {
  name: string;
  states: { name: string; kind: string; count: number | null }[];
  paused: { until: string; reason: string; setBy: string } | null;
}

async function list(): Promise<Shown> {
  const response = await api.call({ url: '/api/v1/pipelines', as: VIEWER });
  expect(response.statusCode).toBe(200);
  const [first] = response.json<{ pipelines: Shown[] }>().pipelines;
  if (!first) throw new Error('no pipeline is listed');
  return first;
}

function act(action: string, payload: object = {}) {
  return api.call({ method: 'POST', url: `/api/v1/pipelines/canary/${action}`, as: ADMIN, payload });
}

async function actionsOf(): Promise<unknown[]> {
  const { rows } = await api.database.pool.query<object>(
    `SELECT action, target, reason, actor, actor_type FROM operator_actions ORDER BY id`,
  );
  return rows;
}

async function toWake(): Promise<string[]> {
  const { rows } = await api.database.pool.query<{ id: string }>(
    'SELECT id FROM items WHERE wake_after IS NOT NULL ORDER BY id',
  );
  return rows.map((each) => each.id);
}

describe('the pipelines', () => {
  it('are listed with their states, what is in them and when they are swept', async () => {
    await submit(api, ALICE);
    const canary = await list();
    expect(canary).toMatchObject({
      ...{ name: 'canary', start: 'FIRST', cancelled: 'FAILED', paused: null },
      sweep: { everyMs: 10_000, staleAfterMs: 5_000, stuckAfterMs: 15_000 },
      rescue: { budget: 3, backoffMs: [2_000, 5_000, 10_000] },
    });
    expect(canary.states).toContainEqual({
      ...{ name: 'FIRST', kind: 'does', count: 1, mayBeginRetry: true },
      oldestAgeSeconds: expect.any(Number) as number,
    });
    expect(canary.states).toContainEqual({
      ...{ name: 'DONE', kind: 'ends', count: null, mayBeginRetry: false, oldestAgeSeconds: null },
    });
  });

  it('can be paused for a while: claims are held, the diagnosis says so, and who did it is recorded', async () => {
    const { id } = await submit(api, ALICE);
    const before = Date.now();

    const response = await act('pause', { for: '2h', reason: 'the disk is full' });

    expect(response.statusCode).toBe(200);
    const { paused } = await list();
    expect(paused).toMatchObject({ reason: 'the disk is full', setBy: 'adam' });
    expect(Math.abs(Date.parse(paused?.until ?? '') - before - 7_200_000)).toBeLessThan(60_000);
    await expect(claim(api, id, 'FIRST', 'first')).rejects.toThrow('claim answered hold');
    await api.database.pool.query('UPDATE items SET started = true WHERE id = $1', [id]);
    expect((await show(api, id)).diagnosis).toMatchObject({ reason: 'paused', evidence: { why: 'the disk is full' } });
    expect(await actionsOf()).toEqual([
      { action: 'pause', target: 'pipeline:canary', reason: 'the disk is full', actor: 'adam', actor_type: 'admin' },
    ]);
  });

  it('last an hour if nothing else is said, and a second pause replaces the first', async () => {
    await act('pause', { reason: 'again' });
    const { paused } = await list();
    expect(Math.abs(Date.parse(paused?.until ?? '') - Date.now() - 3_600_000)).toBeLessThan(60_000);
  });

  it('resumed, let claims through at once, and wake their runs page by page', async () => {
    await api.database.pool.query(`UPDATE holds SET until = now() - interval '1 second'`);
    for (let n = 0; n < 5; n += 1) await submit(api, ALICE);
    await api.database.pool.query('UPDATE items SET started = true');
    await act('pause', { reason: 'once more' });

    expect((await act('resume', { reason: 'mended' })).json()).toEqual({ name: 'canary', paused: null });

    expect((await list()).paused).toBeNull();
    expect(await toWake()).toEqual([]);
    let pages = 0;
    while ((await walkReleased(api.database.pool, 3)) > 0) pages += 1;
    expect(pages).toBeGreaterThan(1);
    const { rows } = await api.database.pool.query<{ id: string }>('SELECT id FROM items ORDER BY id');
    expect(await toWake()).toEqual(rows.map((each) => each.id));
    expect((await api.database.pool.query('SELECT 1 FROM holds')).rows).toEqual([]);
    expect((await actionsOf()).at(-1)).toMatchObject({ action: 'resume', reason: 'mended' });
  });

  it('paused again before every run was woken, wake nobody more', async () => {
    await act('pause', { reason: 'one' });
    await act('resume');
    await act('pause', { reason: 'two' });
    expect(await walkReleased(api.database.pool, 3)).toBe(0);
    expect((await list()).paused).toMatchObject({ reason: 'two' });
    await act('resume');
  });
});
