import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSweep } from '../../../src/activities/maintenance/sweep.js';
import type { ListedItem } from '../../../src/api/items/listed-item.js';
import { canary } from '../../../src/domains/canary/table.js';
import { until } from '../../support/until.js';
import { ADMIN, ALICE, BOB, openApi, REVIEWER, submit, type TestApi, VIEWER, type Who } from '../setup.js';
import { age, claim, commit } from '../walked.js';

interface Page {
  items: ListedItem[];
  nextCursor: string | null;
  count: { value: number; capped: boolean } | null;
  asOf: string | null;
  degraded: boolean;
}

let api: TestApi;
/** Alice's, oldest first: one that runs, one paused, one cancelled, one that waits for her; then one of bob's. */
let ids: { running: string; paused: string; cancelled: string; awaiting: string; bobs: string };

beforeAll(async () => {
  api = await openApi();
  const made = [];
  for (const who of [ALICE, ALICE, ALICE, ALICE, BOB]) made.push((await submit(api, who, { decision: true })).id);
  const [running = '', paused = '', cancelled = '', awaiting = '', bobs = ''] = made;
  ids = { running, paused, cancelled, awaiting, bobs };
  await claim(api, running, 'FIRST', 'first');
  // However long the test takes, this one beats and bob's is not due.
  await api.database.pool.query(`UPDATE tasks SET beat_at = now() + interval '1 day' WHERE item_id = $1`, [running]);
  await api.database.pool.query(
    `UPDATE items SET accepted_at = NULL, start_after = now() + interval '1 day' WHERE id = $1`,
    [bobs],
  );
  await api.call({ method: 'POST', url: `/api/v1/items/${paused}/pause`, as: ADMIN, payload: { reason: 'wait' } });
  await api.database.pool.query(`UPDATE items SET created_at = now() - interval '2 hours' WHERE id = $1`, [paused]);
  await api.call({ method: 'POST', url: `/api/v1/items/${cancelled}/cancel`, as: ALICE });
  await commit(api, await claim(api, awaiting, 'FIRST', 'first'), { is: 'done', outcome: 'done' });
  await commit(api, await claim(api, awaiting, 'SECOND', 'second'), { is: 'done', outcome: 'ask' });
});
afterAll(() => api.close());

async function list(query = '', as: Who = VIEWER): Promise<Page> {
  const response = await api.call({ url: `/api/v1/items?${query}`, as });
  expect(response.statusCode).toBe(200);
  return response.json<Page>();
}

/** One sweep of canaries, with its record. Returns when it ended. */
async function sweep(): Promise<string> {
  const { pool } = api.database;
  const { sweepPage } = createSweep({
    pool,
    engine: api.engine,
    pipelines: { canary },
    logger: pino({ level: 'silent' }),
    rescuesPerSecond: 1_000,
  });
  await sweepPage({ pipeline: 'canary', startedAt: new Date().toISOString(), rescuesLeft: 0 });
  const { rows } = await pool.query<{ endedAt: Date }>(
    `INSERT INTO job_executions (job, status, timeout_at, ended_at) VALUES ('sweep-canary', 'completed', now(), now())
     RETURNING ended_at AS "endedAt"`,
  );
  return rows[0]?.endedAt.toISOString() ?? '';
}

async function idsOf(query = '', as: Who = VIEWER): Promise<string[]> {
  return (await list(query, as)).items.map((each) => each.id);
}

describe('the list of items', () => {
  it('shows operators everything, the newest first, each with why it is where it is', async () => {
    const { items, nextCursor, count } = await list();
    expect(items.map((each) => [each.id, each.state, each.live, each.diagnosis.reason])).toEqual([
      [ids.bobs, 'FIRST', true, 'not_due'],
      [ids.awaiting, 'AWAITING', true, 'awaiting_decision'],
      [ids.cancelled, 'FAILED', false, 'finished'],
      [ids.paused, 'FIRST', true, 'paused'],
      [ids.running, 'FIRST', true, 'running'],
    ]);
    expect({ nextCursor, count }).toEqual({ nextCursor: null, count: { value: 5, capped: false } });
    for (const who of [ADMIN, REVIEWER]) expect(await idsOf('', who)).toHaveLength(5);
  });

  it('shows users their own, whatever they ask for', async () => {
    expect(await idsOf('', ALICE)).toEqual([ids.awaiting, ids.cancelled, ids.paused, ids.running]);
    expect(await idsOf('owner=bob', ALICE)).toEqual([]);
    expect(await idsOf(`q=${ids.bobs}`, ALICE)).toEqual([]);
    expect(await idsOf('pipeline=canary&state=FIRST', BOB)).toEqual([ids.bobs]);
  });

  it.each<[string, (keyof typeof ids)[]]>([
    ['state=FIRST', ['bobs', 'paused', 'running']],
    ['state=FAILED', ['cancelled']],
    ['state=UNHEARD_OF', []],
    ['pipeline=canary&state=AWAITING', ['awaiting']],
    ['pipeline=other', []],
    ['owner=bob', ['bobs']],
    ['owner=alice&state=FIRST', ['paused', 'running']],
    ['q=CANCELLED', ['cancelled']],
    ['q=bob', ['bobs']],
    ['age=1h', ['paused']],
    ['error=LLM_ERROR', []],
    ['reason=paused', ['paused']],
    ['reason=running', ['running']],
    ['reason=awaiting_decision&owner=alice', ['awaiting']],
    ['reason=finished', ['cancelled']],
  ])('is filtered by %s', async (query, expected) => {
    expect(await idsOf(query)).toEqual(expected.map((name) => ids[name]));
  });

  it('tells who waits for a worker that is not there, as of the last sweep', async () => {
    const { id } = await submit(api, BOB);
    await commit(api, await claim(api, id, 'FIRST', 'first'), { is: 'done', outcome: 'done' });
    await api.database.pool.query(`UPDATE items SET updated_at = now() - interval '1 hour' WHERE id = $1`, [id]);
    await age(api, id);
    api.engine.queueStatus = { pollers: [], backlog: 1, oldestMs: null };
    expect(await list('reason=no_worker')).toMatchObject({ items: [], asOf: null });
    expect((await list(`q=${id}`)).items).toMatchObject([{ diagnosis: { reason: 'no_worker' }, swept: null }]);

    const endedAt = await sweep();
    expect(await list('reason=no_worker')).toMatchObject({
      items: [{ id, swept: { reason: 'no_worker' } }],
      asOf: endedAt,
    });
    expect(await idsOf('reason=backlog')).toEqual([]);

    // A worker has come since: the filter says what the sweep found, and the diagnosis says what is.
    api.engine.queueStatus = { pollers: [{ identity: 'w', seenAt: new Date() }], backlog: 1, oldestMs: null };
    expect((await list('reason=no_worker')).items).toMatchObject([
      { id, diagnosis: { reason: 'backlog' }, swept: { reason: 'no_worker' } },
    ]);
    await sweep();
    expect(await idsOf('reason=no_worker')).toEqual([]);
    expect(await idsOf('reason=backlog')).toEqual([id]);
    await api.call({ method: 'POST', url: `/api/v1/items/${id}/cancel`, as: BOB });
    await api.database.pool.query('DELETE FROM items WHERE id = $1', [id]);
  });

  it('says of a reason that rows tell that it is of now', async () => {
    expect(Date.parse((await list('reason=paused')).asOf ?? '')).toBeGreaterThan(Date.now() - 60_000);
    expect((await list()).asOf).toBeNull();
  });

  it('is marked while Temporal is away', async () => {
    expect((await list()).degraded).toBe(false);
    api.engine.mood = 'away';
    // Whether Temporal answers is asked every few seconds at most.
    await until('the API notices', async () => (await list()).degraded);
    expect(await list('owner=bob', ALICE)).toMatchObject({ items: [], degraded: true });
    const pipelines = await api.call({ url: '/api/v1/pipelines', as: VIEWER });
    expect(pipelines.json()).toMatchObject({ degraded: true });
    api.engine.mood = 'well';
    await until('the API notices that it is back', async () => !(await list()).degraded);
  });

  it('finds an item by the beginning of its id', async () => {
    expect(await idsOf(`q=${ids.paused}`)).toEqual([ids.paused]);
    expect(await idsOf(`q=${ids.paused.slice(0, 8)}`)).toContain(ids.paused);
  });

  it.each(['', 'pipeline=canary&', 'reason=paused&', 'owner=carol&', 'q=carol&'])(
    'is read page by page with %s, each item once, while others come in',
    async (filter) => {
      const carol = { sub: 'carol' };
      for (let n = 0; n < 3; n += 1) await submit(api, carol);
      await api.database.pool.query(`UPDATE items SET paused_until = 'infinity' WHERE owner = 'carol'`);
      const wanted = await idsOf(`${filter}limit=100`);
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Page = await list(`${filter}limit=2${cursor === null ? '' : `&cursor=${cursor}`}`);
        expect(page.items.length).toBeLessThanOrEqual(2);
        expect(page.count === null).toBe(cursor !== null);
        seen.push(...page.items.map((each) => each.id));
        await submit(api, carol);
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(seen).toEqual(wanted);
    },
  );

  it('goes on behind what it looked at where too little fits, and says that the count is not the whole', async () => {
    await api.database.pool.query(
      `INSERT INTO items (id, pipeline, owner, state, ended_at)
       SELECT ('ffffffff-' || lpad(to_hex(n), 4, '0') || '-7000-8000-000000000000')::uuid, 'canary', 'dave', 'DONE', now()
       FROM generate_series(1, 2100) n`,
    );
    const first = await list('q=alice');
    expect(first).toMatchObject({ items: [], count: { value: 0, capped: true } });
    expect(first.nextCursor).not.toBeNull();
    const second = await list(`q=alice&cursor=${String(first.nextCursor)}`);
    expect(second.items.map((each) => each.id)).toEqual([ids.awaiting, ids.cancelled, ids.paused, ids.running]);
    expect(second.nextCursor).toBeNull();
    expect((await list('owner=dave&limit=1')).count).toEqual({ value: 2_000, capped: true });
  });

  it('refuses a cursor of another list', async () => {
    const { nextCursor } = await list('limit=1');
    const other = await api.call({ url: `/api/v1/items?limit=1&state=FIRST&cursor=${String(nextCursor)}`, as: VIEWER });
    expect(other.statusCode).toBe(400);
    expect(other.json()).toMatchObject({ errors: [{ path: 'cursor' }] });
  });
});
