import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, ALICE, BOB, openApi, REVIEWER, submit, type TestApi, VIEWER, type Who } from '../../../api/setup.js';

let api: TestApi;
beforeAll(async () => {
  api = await openApi();
});
afterAll(() => api.close());

async function countItems(owner: string): Promise<number> {
  const { rows } = await api.database.pool.query<{ n: number }>(
    'SELECT count(*)::int AS n FROM items WHERE owner = $1',
    [owner],
  );
  return rows[0]?.n ?? 0;
}

describe('submitting a canary', () => {
  it('commits the item, its settings and its first audit entry, and then starts the run', async () => {
    const accepted = await submit(api, ALICE, { stageMs: [1, 2, 3], units: 4, decision: true });

    expect(accepted).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      state: 'FIRST',
      createdAt: expect.any(String) as string,
      statusUrl: `/api/v1/items/${accepted.id}`,
    });
    expect(api.engine.started).toContainEqual(
      expect.objectContaining({
        pipeline: 'canary',
        itemId: accepted.id,
        epoch: 1,
        step: expect.objectContaining({ stage: 'first' }) as object,
      }),
    );
    const shown = await api.call({ url: `/api/v1/canaries/${accepted.id}`, as: ALICE });
    expect(shown.json()).toEqual({
      id: accepted.id,
      owner: 'alice',
      state: 'FIRST',
      stageMs: [1, 2, 3],
      units: 4,
      decision: true,
      faults: [],
      effects: [],
      effectsCount: 0,
    });
    const { rows } = await api.database.pool.query('SELECT actor, actor_type, trigger FROM audit WHERE item_id = $1', [
      accepted.id,
    ]);
    expect(rows).toEqual([{ actor: 'alice', actor_type: 'user', trigger: 'submitted' }]);
  });

  it('needs no body: a canary without wishes takes no time', async () => {
    const response = await api.call({ method: 'POST', url: '/api/v1/canaries', as: ALICE });
    expect(response.statusCode).toBe(202);
    const shown = await api.call({ url: `/api/v1/canaries/${response.json<{ id: string }>().id}`, as: ALICE });
    expect(shown.json()).toMatchObject({ stageMs: [0, 0, 0], units: 0, decision: false });
  });

  it('notes that the engine has the run, so that the dispatcher does not start it again after a second', async () => {
    const { id } = await submit(api, ALICE);
    const { rows } = await api.database.pool.query(
      `SELECT accepted_at IS NOT NULL AS accepted, start_after > now() + interval '1 minute' AS "isLater" FROM items WHERE id = $1`,
      [id],
    );
    expect(rows).toEqual([{ accepted: true, isLater: true }]);
  });

  it.each(['away', 'silent'] as const)(
    'is accepted while the engine is %s: the row is there to be started',
    async (mood) => {
      api.engine.mood = mood;
      const accepted = await submit(api, ALICE).finally(() => (api.engine.mood = 'well'));

      expect(api.engine.started.map((run) => run.itemId)).not.toContain(accepted.id);
      const { rows } = await api.database.pool.query<object>('SELECT started, start_after FROM items WHERE id = $1', [
        accepted.id,
      ]);
      expect(rows).toEqual([{ started: false, start_after: expect.any(Date) as Date }]);
    },
  );

  it('takes faults from an admin, and keeps them', async () => {
    const faults = [{ stage: 'spread', attempt: 2, kind: 'kill', unit: 'unit-1' }];
    const { id } = await submit(api, ADMIN, { faults });
    expect((await api.call({ url: `/api/v1/canaries/${id}`, as: ADMIN })).json()).toMatchObject({ faults });
  });
});

describe('the same submission sent again', () => {
  /** Whatever the answer is. */
  function send(as: Who, payload: object) {
    const headers = { 'idempotency-key': 'key-1' };
    return api.call({ method: 'POST', url: '/api/v1/canaries', as, headers, payload });
  }

  it('gets the same answer and makes no second item', async () => {
    const who = { sub: 'again' };
    const first = await submit(api, who, { units: 2 }, 'key-1');
    const second = await submit(api, who, { units: 2 }, 'key-1');
    expect(second).toEqual(first);
    expect(await countItems('again')).toBe(1);
    expect(api.engine.started.filter((run) => run.itemId === first.id)).toHaveLength(1);
  });

  it('waits for a first submission that is still under way', async () => {
    const who = { sub: 'at-once' };
    const answers = await Promise.all(Array.from({ length: 8 }, () => submit(api, who, { units: 3 }, 'key-1')));
    expect(new Set(answers.map((answer) => answer.id)).size).toBe(1);
    expect(await countItems('at-once')).toBe(1);
  });

  it('makes another item under another key, by another caller, or without a key', async () => {
    const [one, two] = [{ sub: 'other-1' }, { sub: 'other-2' }];
    await submit(api, one, {}, 'key-1');
    await submit(api, one, {}, 'key-2');
    await submit(api, two, {}, 'key-1');
    await submit(api, two);
    await submit(api, two);
    expect([await countItems('other-1'), await countItems('other-2')]).toEqual([2, 3]);
  });

  it('is refused with another body', async () => {
    const who = { sub: 'changed' };
    await submit(api, who, { units: 1 }, 'key-1');
    const response = await send(who, { units: 2 });
    expect(response.statusCode).toBe(409);
    expect(response.json()).toMatchObject({ code: 'idempotency_conflict', errors: [{ path: 'Idempotency-Key' }] });
    expect(await countItems('changed')).toBe(1);
  });

  it('makes a new item after 24 hours', async () => {
    const who = { sub: 'next-day' };
    const first = await submit(api, who, { units: 1 }, 'key-1');
    await api.database.pool.query(
      `UPDATE idempotency_keys SET created_at = now() - interval '24 hours 1 second' WHERE caller = 'next-day'`,
    );
    const second = await submit(api, who, { units: 2 }, 'key-1');
    expect(second.id).not.toBe(first.id);
    expect(await submit(api, who, { units: 2 }, 'key-1')).toEqual(second);
  });

  it('leaves neither item nor answer when the transaction fails, so that the key can be used again', async () => {
    const who = { sub: 'broken' };
    await api.database.pool.query(`ALTER TABLE canaries ADD CONSTRAINT refuse CHECK (units <> 77)`);
    const response = await send(who, { units: 77 });
    expect(response.statusCode).toBe(500);
    expect(response.body).not.toContain('constraint');
    expect(await countItems('broken')).toBe(0);
    await api.database.pool.query(`ALTER TABLE canaries DROP CONSTRAINT refuse`);
    await submit(api, who, { units: 77 }, 'key-1');
    expect(await countItems('broken')).toBe(1);
  });
});

describe("a canary's effects", () => {
  it('are shown with every double', async () => {
    const { id } = await submit(api, ALICE);
    await api.database.pool.query(
      `INSERT INTO canary_effects (item_id, visit, stage, unit, attempt)
       VALUES ($1, 1, 'first', '', 1), ($1, 1, 'spread', 'unit-1', 1), ($1, 1, 'first', '', 2)`,
      [id],
    );
    const shown = (await api.call({ url: `/api/v1/canaries/${id}`, as: ALICE })).json<{
      effects: { stage: string; unit: string; attempt: number }[];
      effectsCount: number;
    }>();
    expect(shown.effects.map((each) => [each.stage, each.unit, each.attempt])).toEqual([
      ['first', '', 1],
      ['spread', 'unit-1', 1],
      ['first', '', 2],
    ]);
    expect(shown.effectsCount).toBe(3);
  });

  it('are seen by their owner and by operators; to others there is no such canary', async () => {
    const { id } = await submit(api, ALICE);
    const url = `/api/v1/canaries/${id}`;
    for (const as of [ALICE, ADMIN, REVIEWER, VIEWER]) expect((await api.call({ url, as })).statusCode).toBe(200);
    expect((await api.call({ url, as: BOB })).statusCode).toBe(404);
  });
});
