import pg from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { cancelItem, rescueItem } from '../../../src/db/spine/control.js';
import { decideItem } from '../../../src/db/spine/decide-item.js';
import { clearWake, takeDueStarts, takeDueWakes } from '../../../src/db/spine/due.js';
import { itemOf } from '../../support/facts.js';
import { byHand, findIn, ROOT, useSpine } from '../../support/spine.js';
import { batched, reviewed, straight } from '../../support/tables.js';

const spine = useSpine();
// Due items are looked for in the whole table.
beforeEach(() => spine.pool.query('DELETE FROM items'));

const find = findIn(straight, reviewed, batched);
const KNOWN = ['straight', 'reviewed', 'batched'];

/** Items whose start is due, the first of them the longest. */
async function due(count: number): Promise<string[]> {
  const hand = byHand(spine.pool, straight);
  const ids = [];
  for (let n = 0; n < count; n += 1) ids.push(await hand.make());
  await spine.pool.query(
    `UPDATE items SET start_after = now() - interval '1 minute' + (id = ANY ($1::uuid[]))::int * interval '1 s'`,
    [ids],
  );
  return ids;
}

async function secondsUntil(column: 'start_after' | 'wake_after', id: string): Promise<number> {
  const { rows } = await spine.pool.query<{ s: number }>(
    `SELECT extract(epoch FROM ${column} - now())::float8 AS s FROM items WHERE id = $1`,
    [id],
  );
  return rows[0]?.s ?? NaN;
}

describe('starts that are due', () => {
  it('are taken once, and not again before their backoff', async () => {
    const ids = await due(3);

    const taken = await takeDueStarts(spine.pool, KNOWN, 10);

    expect(taken.map((each) => each.itemId).sort()).toEqual(ids.sort());
    expect(taken[0]).toMatchObject({
      pipeline: 'straight',
      state: 'READING',
      visit: 1,
      epoch: 1,
      version: 1,
      ended: false,
    });
    expect(await takeDueStarts(spine.pool, KNOWN, 10)).toEqual([]);
  });

  it('are not those that are started, not due, ended or want no run', async () => {
    const [started = '', ended = ''] = await due(2);
    await byHand(spine.pool, straight).claimed(started);
    await cancelItem(spine.pool, find, { itemId: ended, actor: ROOT });
    await byHand(spine.pool, batched).make({ dedupeKey: 'resting' });
    const fresh = await byHand(spine.pool, straight).make();

    expect(await takeDueStarts(spine.pool, KNOWN, 10)).toEqual([]);
    expect(await secondsUntil('start_after', fresh)).toBeGreaterThan(0);
  });

  it('are never more than asked for, the most urgent first', async () => {
    const ids = await due(12);
    await spine.pool.query('UPDATE items SET priority = 5 WHERE id = ANY ($1)', [ids.slice(9)]);

    const first = await takeDueStarts(spine.pool, KNOWN, 3);
    const rest = await takeDueStarts(spine.pool, KNOWN, 100);

    expect(first.map((each) => each.itemId).sort()).toEqual(ids.slice(9).sort());
    expect(rest).toHaveLength(9);
  });

  it('are never more than asked for, whatever plan the server chooses', async () => {
    await due(12);
    const off = ['hashagg', 'sort', 'hashjoin', 'mergejoin', 'indexscan', 'bitmapscan', 'material'];
    const options = off.map((each) => `-c enable_${each}=off`).join(' ');
    const contrary = new pg.Pool({ connectionString: spine.url, options });
    try {
      expect(await takeDueStarts(contrary, KNOWN, 3)).toHaveLength(3);
    } finally {
      await contrary.end();
    }
  });

  it('are never taken by two dispatchers at once', async () => {
    const ids = await due(60);

    const pages = await Promise.all(Array.from({ length: 12 }, () => takeDueStarts(spine.limited, KNOWN, 10)));

    const taken = pages.flat().map((each) => each.itemId);
    expect(new Set(taken).size).toBe(taken.length);
    expect(pages.every((page) => page.length <= 10)).toBe(true);
    const rest = await takeDueStarts(spine.pool, KNOWN, 100);
    expect([...taken, ...rest.map((each) => each.itemId)].sort()).toEqual(ids.sort());
  });

  it('skip a locked item, and find it later', async () => {
    const [locked = '', free = ''] = await due(2);
    const client = await spine.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query('SELECT 1 FROM items WHERE id = $1 FOR NO KEY UPDATE', [locked]);
      expect((await takeDueStarts(spine.limited, KNOWN, 10)).map((each) => each.itemId)).toEqual([free]);
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
    expect((await takeDueStarts(spine.pool, KNOWN, 10)).map((each) => each.itemId)).toEqual([locked]);
  });

  it('wait longer after each try, up to ten seconds, and from the beginning after a rescue', async () => {
    const [id = ''] = await due(1);
    const waits = [];
    for (let n = 0; n < 7; n += 1) {
      await takeDueStarts(spine.pool, KNOWN, 1);
      waits.push(Math.round(await secondsUntil('start_after', id)));
      await spine.pool.query(`UPDATE items SET start_after = now() - interval '1 s'`);
    }
    expect(waits).toEqual([2, 4, 8, 10, 10, 10, 10]);

    await rescueItem(spine.pool, find, { itemId: id, actor: ROOT });
    expect(await takeDueStarts(spine.pool, KNOWN, 1)).toMatchObject([{ itemId: id, epoch: 2 }]);
    expect(Math.round(await secondsUntil('start_after', id))).toBe(2);
  });
});

describe('wakes that are due', () => {
  async function decided(): Promise<string> {
    const hand = byHand(spine.pool, reviewed);
    const id = await hand.make();
    await hand.walk(id, 'judge:concerns');
    await decideItem(spine.pool, find, { itemId: id, actor: ROOT, id: `d-${id}`, outcome: 'escalate' });
    return id;
  }
  const makeDue = () =>
    spine.pool.query(`UPDATE items SET wake_after = now() - interval '1 s' WHERE wake_after IS NOT NULL`);

  it('are repeated until the run has looked at its row', async () => {
    const id = await decided();
    expect(await takeDueWakes(spine.pool, 10)).toEqual([]);
    await makeDue();
    expect(await takeDueWakes(spine.pool, 10)).toMatchObject([
      { itemId: id, state: 'SECOND_REVIEW', version: 3, ended: false },
    ]);
    expect(await takeDueWakes(spine.pool, 10)).toEqual([]);
    expect(Math.round(await secondsUntil('wake_after', id))).toBe(2);

    await byHand(spine.pool, reviewed).next(id);
    await makeDue();
    expect(await takeDueWakes(spine.pool, 10)).toEqual([]);
  });

  it('of an ended item are done when its run was told, unless something happened since', async () => {
    const id = await decided();
    await cancelItem(spine.pool, find, { itemId: id, actor: ROOT });
    await makeDue();
    const [item] = await takeDueWakes(spine.pool, 10);
    expect(item).toMatchObject({ itemId: id, ended: true, version: 4 });

    await clearWake(spine.pool, { itemId: id, version: 3 });
    expect(await itemOf(spine.pool, id)).toMatchObject({ wakeAfter: expect.any(Date) as Date });
    await clearWake(spine.pool, { itemId: id, version: 4 });
    expect(await itemOf(spine.pool, id)).toMatchObject({ wakeAfter: null });
  });

  it('are never more than asked for, nor taken twice', async () => {
    for (let n = 0; n < 8; n += 1) await decided();
    await makeDue();

    const pages = await Promise.all(Array.from({ length: 4 }, () => takeDueWakes(spine.limited, 3)));

    expect(pages.every((page) => page.length <= 3)).toBe(true);
    const taken = pages.flat().map((each) => each.itemId);
    expect(new Set(taken).size).toBe(taken.length);
  });
});
