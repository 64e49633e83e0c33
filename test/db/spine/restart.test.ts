import { describe, expect, it } from 'vitest';
import type { Pipeline } from '../../../src/core/pipeline.js';
import { reprioritizeItem, rescueItem } from '../../../src/db/spine/control.js';
import { markRunEnded } from '../../../src/db/spine/item-row.js';
import { auditOf, itemOf, lastMetadataOf, taskOf } from '../../support/facts.js';
import { byHand, codeOf, FAILURE, findIn, ROOT, useSpine } from '../../support/spine.js';
import { resting, reviewed, straight } from '../../support/tables.js';

const spine = useSpine();

const find = findIn(straight, reviewed, resting);
const handOf = (pipeline: Pipeline) => byHand(spine.pool, pipeline);

/** An item that the engine has, as the dispatcher notes it. */
async function accepted(priority = 0, pipeline: Pipeline = straight): Promise<string> {
  const id = await handOf(pipeline).make({ priority });
  await spine.pool.query('UPDATE items SET accepted_at = now(), start_after = NULL WHERE id = $1', [id]);
  return id;
}

function reprioritize(itemId: string, priority: number, heedsPriorities = true) {
  return reprioritizeItem(spine.pool, find, { itemId, actor: ROOT, priority, heedsPriorities, reason: 'urgent' });
}

describe('another priority', () => {
  it('gives an item that waits for a worker a new run, at no cost', async () => {
    const hand = handOf(straight);
    const id = await accepted();

    expect(await reprioritize(id, 5)).toMatchObject({ restarted: true, epoch: 2, visit: 1, priority: 5 });

    expect(await itemOf(spine.pool, id)).toMatchObject({
      ...{ epoch: 2, priority: 5, started: false, rescues: 0, startAfter: expect.any(Date) as Date },
    });
    expect((await spine.pool.query('SELECT 1 FROM receipts WHERE item_id = $1', [id])).rowCount).toBe(0);
    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({ trigger: 'reprioritized', actor: 'root' });
    expect(await lastMetadataOf(spine.pool, id)).toEqual({ priority: 5, reason: 'urgent', restarted: true });
    expect((await hand.claim(id, { epoch: 1 })).is).toBe('superseded');
  });

  it('gives a new run to an item whose first claim would take it from its rest', async () => {
    const id = await accepted(0, resting);
    await spine.pool.query(`UPDATE items SET state = 'queued' WHERE id = $1`, [id]);
    expect(await reprioritize(id, 5)).toMatchObject({ restarted: true });
  });

  it('of the same level leaves the run alone, because its place would be the same', async () => {
    const id = await accepted(5);
    expect(await reprioritize(id, 99)).toMatchObject({ restarted: false, epoch: 1, priority: 99 });
  });

  it('leaves a running stage alone and goes with the next step', async () => {
    const hand = handOf(straight);
    const id = await accepted();
    const claimed = await hand.claimed(id);
    expect(await reprioritize(id, -5)).toMatchObject({ restarted: false, epoch: 1 });
    expect(await hand.finish(claimed)).toMatchObject({ do: 'stage', stage: 'check', priorityKey: 4 });
    expect(await hand.next(id)).toMatchObject({ do: 'stage', stage: 'check', priorityKey: 4 });
  });

  it('leaves a task alone that waits for its retry, and replaces the run when the retry waits too', async () => {
    const hand = handOf(straight);
    const id = await accepted();
    await hand.commit(await hand.claimed(id), { is: 'error', error: FAILURE, retryInMs: 60_000 });
    expect(await reprioritize(id, 5)).toMatchObject({ restarted: false });

    await spine.pool.query(`UPDATE tasks SET retry_at = now() - interval '1 second' WHERE item_id = $1`, [id]);
    expect(await reprioritize(id, 100)).toMatchObject({ restarted: true, epoch: 2 });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ errors: 1, status: 'waiting' });
  });

  it('lets the receipt of a rescue that waits for a worker be completed by the new run', async () => {
    const hand = handOf(straight);
    const id = await accepted();
    await rescueItem(spine.pool, find, { itemId: id, actor: ROOT });
    await spine.pool.query('UPDATE items SET accepted_at = now() WHERE id = $1', [id]);
    expect(await reprioritize(id, 5)).toMatchObject({ restarted: true, epoch: 3 });
    await hand.claimed(id);
    const { rows } = await spine.pool.query('SELECT epoch, result FROM receipts WHERE item_id = $1', [id]);
    expect(rows).toEqual([{ epoch: 3, result: 'moving' }]);
  });

  it('gives a new run to an item whose start may be on its way with the old level', async () => {
    const id = await handOf(straight).make();
    expect(await reprioritize(id, 5)).toMatchObject({ restarted: true, epoch: 2 });
    expect(await reprioritize(id, 100)).toMatchObject({ restarted: true, epoch: 3 });
  });

  it('gives a new run to an item that waits for a person, because its run would ask for the next step at the old level', async () => {
    const asked = await accepted(0, reviewed);
    await handOf(reviewed).walk(asked, 'judge:concerns');
    expect(await reprioritize(asked, 5)).toMatchObject({ restarted: true, epoch: 2, priority: 5 });
    expect(await handOf(reviewed).next(asked)).toMatchObject({ do: 'wait' });
  });

  it('changes the row alone where Temporal knows no priorities, because a new run would stand behind all that wait', async () => {
    const id = await accepted();
    expect(await reprioritize(id, 5, false)).toMatchObject({ restarted: false, epoch: 1, priority: 5 });
  });

  it('starts nothing where the run has ended', async () => {
    const left = await accepted();
    await markRunEnded(spine.pool, { pipeline: straight.name, itemId: left, epoch: 1 });
    expect(await reprioritize(left, 5)).toMatchObject({ restarted: false });
  });

  it('is refused where the item has ended', async () => {
    const hand = handOf(straight);
    const id = await accepted();
    await hand.walk(id, 'read:empty');
    expect(await codeOf(reprioritize(id, 5))).toBe('state_conflict');
  });
});
