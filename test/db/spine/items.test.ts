import { describe, expect, it } from 'vitest';
import type { Pipeline } from '../../../src/core/pipeline.js';
import { inTransaction } from '../../../src/db/postgres/client.js';
import { cancelItem } from '../../../src/db/spine/control.js';
import { createItem, firstStepOf } from '../../../src/db/spine/items.js';
import { holdItem, holdLock } from '../../support/barrier.js';
import { auditOf, itemOf, movesOf, trailFaults } from '../../support/facts.js';
import { ADA, byHand, findIn, ROOT, type Spine, useSpine } from '../../support/spine.js';
import { batched, resting, spreadLast, straight } from '../../support/tables.js';

const spine = useSpine();

function create(pool: Spine['pool'], pipeline: Pipeline, dedupeKey?: string) {
  return inTransaction(pool, (transaction) =>
    createItem(transaction, pipeline, {
      owner: 'ada',
      actor: ADA,
      trigger: 'submitted',
      ...(dedupeKey && { dedupeKey }),
    }),
  );
}

async function canariesOf(): Promise<string[]> {
  const { rows } = await spine.pool.query<{ id: string }>('SELECT id FROM canaries');
  return rows.map(({ id }) => id);
}

describe('a new item', () => {
  it('is in its start state, with its first audit entry and the step of its run', async () => {
    const created = await create(spine.pool, straight);

    expect(created).toMatchObject({
      created: true,
      run: { pipeline: 'straight', itemId: created.id, epoch: 1, step: { do: 'stage', stage: 'read', visit: 1 } },
    });
    expect(await itemOf(spine.pool, created.id)).toMatchObject({
      state: 'READING',
      visit: 1,
      epoch: 1,
      version: 1,
      started: false,
      startAfter: expect.any(Date) as Date,
    });
    expect(await auditOf(spine.pool, created.id)).toEqual([
      {
        version: 1,
        visit: 1,
        epoch: 1,
        from: null,
        to: 'READING',
        trigger: 'submitted',
        actor: 'ada',
        actorType: 'user',
      },
    ]);
    expect(await trailFaults(spine.pool, created.id)).toEqual([]);
  });

  it('wants no run while it rests', async () => {
    const created = await create(spine.pool, batched, 'no-run');
    expect(created).toMatchObject({ created: true, run: null });
    expect(await itemOf(spine.pool, created.id)).toMatchObject({ startAfter: null });
  });

  it('is there with its entry, or not at all', async () => {
    let id = '';
    const failed = inTransaction(spine.pool, async (transaction) => {
      ({ id } = await createItem(transaction, straight, { owner: 'ada', actor: ADA, trigger: 'submitted' }));
      throw new Error('the domain row was refused');
    });
    await expect(failed).rejects.toThrow('refused');
    expect(await auditOf(spine.pool, id)).toEqual([]);
  });

  it('is there with the row of its domain, or not at all', async () => {
    const row = { text: 'INSERT INTO canaries (id, stage_ms) SELECT id, $1::int[] FROM item', values: [[1, 2, 3]] };
    const item = { owner: 'ada', actor: ADA, trigger: 'submitted', dedupeKey: 'with-row' };
    const { id } = await createItem(spine.pool, straight, { ...item, row });
    expect(await canariesOf()).toEqual([id]);

    expect(await createItem(spine.pool, straight, { ...item, row })).toEqual({ created: false, id });
    const refused = { text: 'INSERT INTO canaries (id, units) SELECT id, NULL FROM item', values: [] };
    await expect(createItem(spine.pool, straight, { ...item, dedupeKey: 'no-row', row: refused })).rejects.toThrow(
      'units',
    );
    expect(await canariesOf()).toEqual([id]);
    const { rows } = await spine.pool.query(`SELECT 1 FROM items WHERE dedupe_key = 'no-row'`);
    expect(rows).toEqual([]);
  });
});

describe('a dedupe key', () => {
  it('is unique among live items, and free again when they have ended', async () => {
    const first = await create(spine.pool, straight, 'k');
    expect(await create(spine.pool, straight, 'k')).toEqual({ created: false, id: first.id });
    await cancelItem(spine.pool, findIn(straight), { itemId: first.id, actor: ROOT });

    const second = await create(spine.pool, straight, 'k');

    expect(second.created).toBe(true);
    expect(second.id).not.toBe(first.id);
    expect(await movesOf(spine.pool, second.id)).toEqual(['>READING']);
  });

  it('is unique among all there ever were where the table says so', async () => {
    const first = await create(spine.pool, batched, 'k');
    await cancelItem(spine.pool, findIn(batched), { itemId: first.id, actor: ROOT });

    expect(await create(spine.pool, batched, 'k')).toEqual({ created: false, id: first.id });
  });

  it('belongs to its pipeline, and none is no key', async () => {
    const first = await create(spine.pool, straight, 'mine');
    expect(await create(spine.pool, resting, 'mine')).toMatchObject({ created: true });
    expect((await create(spine.pool, straight)).created).toBe(true);
    expect((await create(spine.pool, straight)).created).toBe(true);
    expect(first.created).toBe(true);
  });

  it('makes one item of many that come at once', async () => {
    const created = await Promise.all(Array.from({ length: 15 }, () => create(spine.limited, straight, 'crowd')));

    expect(created.filter((each) => each.created)).toHaveLength(1);
    expect(new Set(created.map((each) => each.id)).size).toBe(1);
  });

  it('waits for one that is being created, and takes its place should that come to nothing', async () => {
    const barrier = await holdLock(
      spine,
      `INSERT INTO items (id, pipeline, owner, state, dedupe_key) VALUES (gen_random_uuid(), 'straight', 'eve', 'READING', 'undone')`,
    );
    const waiting = await barrier.start((pool) => create(pool, straight, 'undone'));
    await barrier.release();

    expect(await waiting.result).toMatchObject({ created: true });
  });

  it('is free for the next one in the moment that its item ends', async () => {
    const first = await create(spine.pool, straight, 'ending');
    const barrier = await holdItem(spine, first.id);
    const cancel = await barrier.start((pool) => cancelItem(pool, findIn(straight), { itemId: first.id, actor: ROOT }));
    await barrier.release();
    const [, second] = await Promise.all([cancel.result, create(spine.pool, straight, 'ending')]);

    expect(second.created ? second.id !== first.id : second.id === first.id).toBe(true);
  });

  it('is looked for again when its item ended between the two looks', async () => {
    const first = await create(spine.pool, straight, 'vanishing');
    let looks = 0;
    const created = await inTransaction(spine.pool, (transaction) =>
      createItem(
        {
          async query(text, values) {
            looks += 1;
            if (looks === 2) await cancelItem(spine.pool, findIn(straight), { itemId: first.id, actor: ROOT });
            return transaction.query(text, values);
          },
        },
        straight,
        { owner: 'ada', actor: ADA, trigger: 'submitted', dedupeKey: 'vanishing' },
      ),
    );

    expect(looks).toBe(3);
    expect(created).toMatchObject({ created: true });
  });
});

describe('the first step of a run', () => {
  it('follows from the table for the first run, and is asked of the row by a later one', () => {
    expect(firstStepOf(straight, { state: 'READING', visit: 1, epoch: 1 })).toMatchObject({
      do: 'stage',
      stage: 'read',
    });
    expect(firstStepOf(straight, { state: 'READING', visit: 1, epoch: 2 })).toEqual({ do: 'next' });
    expect(firstStepOf(spreadLast, { state: 'COPYING', visit: 1, epoch: 1 })).toEqual({ do: 'next' });
    expect(firstStepOf(batched, { state: 'active', visit: 1, epoch: 1 })).toEqual({ do: 'next' });
  });
});

describe('an item that is deleted', () => {
  it('takes its tasks along; its audit entries stay', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await hand.walk(id, 'read:empty');
    await spine.pool.query('DELETE FROM items WHERE id = $1', [id]);

    expect(await movesOf(spine.pool, id)).toEqual(['>READING', 'READING>DONE']);
    const { rows } = await spine.pool.query('SELECT 1 FROM tasks WHERE item_id = $1', [id]);
    expect(rows).toEqual([]);
  });
});
