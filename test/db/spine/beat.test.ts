import { describe, expect, it } from 'vitest';
import { beatTask, keepCheckpoint, keepEffect } from '../../../src/db/spine/beat.js';
import { cancelItem, rescueItem } from '../../../src/db/spine/control.js';
import { effectsOf } from '../../support/facts.js';
import { byHand, effectOf, findIn, ROOT, useSpine } from '../../support/spine.js';
import { spreadAll, straight } from '../../support/tables.js';

const spine = useSpine();

const find = findIn(straight, spreadAll);

interface Signs {
  item: boolean;
  task: boolean;
  progress: unknown;
}

/** Whether item and task have beaten since they were made to look old. */
async function signsOf(id: string, stage: string, unit = ''): Promise<Signs> {
  const { rows } = await spine.pool.query<Signs>(
    `SELECT i.beat_at > now() - interval '1 hour' AS item, t.beat_at > now() - interval '1 hour' AS task, t.progress
     FROM items i JOIN tasks t ON t.item_id = i.id WHERE i.id = $1 AND t.stage = $2 AND t.unit = $3`,
    [id, stage, unit],
  );
  return rows[0] ?? { item: false, task: false, progress: 'no such task' };
}

async function grow(id: string): Promise<void> {
  await spine.pool.query(`UPDATE items SET beat_at = now() - interval '1 day' WHERE id = $1`, [id]);
  await spine.pool.query(`UPDATE tasks SET beat_at = now() - interval '1 day' WHERE item_id = $1`, [id]);
}

describe('a beat', () => {
  it('is a sign of life of the task and its item, and keeps the progress that was reported last', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const attempt = await hand.claimed(id);
    await grow(id);

    expect(await beatTask(spine.pool, attempt, { done: 3 })).toBe(true);
    expect(await signsOf(id, 'read')).toEqual({ item: true, task: true, progress: { done: 3 } });
    expect(await beatTask(spine.pool, attempt, null)).toBe(true);
    expect(await signsOf(id, 'read')).toMatchObject({ progress: { done: 3 } });
  });

  it('writes only the task when a unit beats', async () => {
    const hand = byHand(spine.pool, spreadAll);
    const id = await hand.make();
    await hand.finish(await hand.claimed(id), 'done', ['a']);
    const attempt = await hand.claimed(id, { stage: 'upload', unit: 'a' });
    await grow(id);

    expect(await beatTask(spine.pool, attempt, null)).toBe(true);
    expect(await signsOf(id, 'upload', 'a')).toMatchObject({ item: false, task: true });
  });

  it('is refused from a superseded attempt and makes nothing look alive', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const zombie = await hand.claimed(id, { worker: 'frozen' });
    await hand.claimed(id, { worker: 'healthy' });
    await grow(id);

    expect(await beatTask(spine.pool, zombie, { done: 99 })).toBe(false);
    expect(await signsOf(id, 'read')).toEqual({ item: false, task: false, progress: null });
  });

  it.each(['cancelled', 'rescued'])('is refused after the item was %s', async (how) => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const attempt = await hand.claimed(id);
    if (how === 'cancelled') await cancelItem(spine.pool, find, { itemId: id, actor: ROOT });
    else await rescueItem(spine.pool, find, { itemId: id, actor: ROOT });
    await grow(id);

    expect(await beatTask(spine.pool, attempt, null)).toBe(false);
    expect(await signsOf(id, 'read')).toMatchObject({ item: false, task: false });
  });

  it('takes progress that JSON in the database would refuse', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();

    expect(await beatTask(spine.pool, await hand.claimed(id), { file: 'a\u0000b\ud800' })).toBe(true);
    expect(await signsOf(id, 'read')).toMatchObject({ progress: { file: 'a\ufffdb\ufffd' } });
  });
});

describe('a checkpoint', () => {
  it('is handed to the next attempt', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    expect(await keepCheckpoint(spine.pool, await hand.claimed(id), { row: 7 })).toBe(true);

    expect(await hand.claimed(id)).toMatchObject({ checkpoint: { row: 7 } });
  });

  it('is not kept of an attempt that was superseded, or whose item was cancelled', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const zombie = await hand.claimed(id);
    const healthy = await hand.claimed(id);
    expect(await keepCheckpoint(spine.pool, zombie, { row: 1 })).toBe(false);
    await cancelItem(spine.pool, find, { itemId: id, actor: ROOT });

    expect(await keepCheckpoint(spine.pool, healthy, { row: 2 })).toBe(false);
    const { rows } = await spine.pool.query('SELECT checkpoint FROM tasks WHERE item_id = $1', [id]);
    expect(rows).toEqual([{ checkpoint: null }]);
  });
});

describe('a checkpoint with an effect', () => {
  it('is written together with the effect, once, however often it is asked for', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const attempt = await hand.claimed(id);
    for (const row of [1, 1, 2, 2]) {
      expect(await keepEffect(spine.pool, attempt, { row }, effectOf(attempt))).toBe(true);
    }

    expect(await effectsOf(spine.pool, id)).toHaveLength(2);
    expect(await hand.claimed(id)).toMatchObject({ checkpoint: { row: 2 } });
  });

  it('is written once when two calls overlap', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const attempt = await hand.claimed(id);
    await Promise.all(
      Array.from({ length: 8 }, () => keepEffect(spine.limited, attempt, { row: 1 }, effectOf(attempt))),
    );

    expect(await keepEffect(spine.pool, attempt, { row: 1 }, effectOf(attempt))).toBe(true);
    expect(await effectsOf(spine.pool, id)).toHaveLength(1);
  });

  it('leaves no effect of an attempt that was superseded, or whose item was cancelled', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const zombie = await hand.claimed(id);
    const healthy = await hand.claimed(id);
    expect(await keepEffect(spine.pool, zombie, { row: 1 }, effectOf(zombie))).toBe(false);
    await cancelItem(spine.pool, find, { itemId: id, actor: ROOT });

    expect(await keepEffect(spine.pool, healthy, { row: 2 }, effectOf(healthy))).toBe(false);
    expect(await effectsOf(spine.pool, id)).toEqual([]);
  });

  it('refuses an effect that does not draw from the guard', async () => {
    const hand = byHand(spine.pool, straight);
    const attempt = await hand.claimed(await hand.make());
    const unguarded = { text: 'DELETE FROM canary_effects', values: [] };

    await expect(keepEffect(spine.pool, attempt, { row: 1 }, unguarded)).rejects.toThrow('FROM guard');
  });
});
