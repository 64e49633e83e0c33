import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ListedItem } from '../../../src/api/items/listed-item.js';
import { ADMIN, ALICE, BOB, openApi, REVIEWER, submit, type TestApi, VIEWER, type Who } from '../setup.js';
import { age, claim, commit } from '../walked.js';

interface Page {
  items: ListedItem[];
  nextCursor: string | null;
  count: { value: number; capped: boolean } | null;
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
    ['age=1h', []],
    ['error=LLM_ERROR', []],
    ['reason=paused', ['paused']],
    ['reason=running', ['running']],
    ['reason=awaiting_decision&owner=alice', ['awaiting']],
    ['reason=finished', ['cancelled']],
    ['reason=wedged', []],
  ])('is filtered by %s', async (query, expected) => {
    expect(await idsOf(query)).toEqual(expected.map((name) => ids[name]));
  });

  it('tells who waits for a worker that is not there', async () => {
    const { id } = await submit(api, BOB);
    await commit(api, await claim(api, id, 'FIRST', 'first'), { is: 'done', outcome: 'done' });
    api.engine.queueStatus = { pollers: [], backlog: 1, oldestMs: null };
    expect(await idsOf('reason=no_worker')).toEqual([]);
    await age(api, id);
    expect(await idsOf('reason=no_worker')).toEqual([id]);

    api.engine.queueStatus = { pollers: [{ identity: 'w', seenAt: new Date() }], backlog: 1, oldestMs: null };
    expect(await idsOf('reason=no_worker')).toEqual([]);
    expect(await idsOf('reason=backlog')).toEqual([id]);
    await api.call({ method: 'POST', url: `/api/v1/items/${id}/cancel`, as: BOB });
    await api.database.pool.query('DELETE FROM items WHERE id = $1', [id]);
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
