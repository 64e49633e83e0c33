import { describe, expect, it } from 'vitest';
import type { Pipeline } from '../../../src/core/pipeline.js';
import { cancelItem, retryItem } from '../../../src/db/spine/control.js';
import { leaveRest } from '../../../src/db/spine/leave-rest.js';
import { itemOf, movesOf } from '../../support/facts.js';
import { ADA, byHand, findIn, ROOT, useSpine } from '../../support/spine.js';
import { batched, resting, straight } from '../../support/tables.js';

const spine = useSpine();

function at(pipeline: Pipeline) {
  const hand = byHand(spine.limited, pipeline);
  return {
    hand,
    leave: (itemId: string, outcome: string) =>
      leaveRest(spine.limited, findIn(pipeline), { itemId, actor: ADA, outcome }),
  };
}

describe('an item that rests until something happens to it', () => {
  it('wants its first run when it is moved on, under the epoch that no run has had', async () => {
    const { hand, leave } = at(resting);
    const id = await hand.make();
    expect(await itemOf(spine.pool, id)).toMatchObject({ startAfter: null, epoch: 1 });

    expect(await leave(id, 'confirmed')).toMatchObject({ state: 'queued', epoch: 1 });

    const item = await itemOf(spine.pool, id);
    expect(item).toMatchObject({ state: 'queued', started: false, epoch: 1 });
    expect(item.startAfter).toBeInstanceOf(Date);
    expect(await movesOf(spine.pool, id)).toContain('registered>queued');
  });

  it('wants a new run, under a new epoch, where an earlier one has been', async () => {
    const { hand, leave } = at({ ...batched, name: 'batched-again' });
    const id = await hand.make();
    await leave(id, 'picked');
    expect(await hand.claim(id, { state: 'processing', stage: 'gather' })).toMatchObject({ is: 'run' });
    const find = findIn({ ...batched, name: 'batched-again' });
    await cancelItem(spine.limited, find, { itemId: id, actor: ROOT });
    await retryItem(spine.limited, find, { itemId: id, actor: ROOT });
    const { epoch } = await itemOf(spine.pool, id);

    const moved = await leave(id, 'picked');

    expect(moved).toMatchObject({ state: 'processing', epoch });
    expect((await itemOf(spine.pool, id)).startAfter).toBeInstanceOf(Date);
  });

  it('is moved together with what the event saves, or not at all', async () => {
    const pipeline = { ...resting, name: 'resting-saved' };
    const { hand } = at(pipeline);
    const id = await hand.make();
    const leave = (save: Parameters<typeof leaveRest>[3]) =>
      leaveRest(spine.limited, findIn(pipeline), { itemId: id, actor: ADA, outcome: 'confirmed' }, save);
    const note = `UPDATE items SET error_message = 'saved' WHERE id = $1`;

    await expect(
      leave(async (transaction, item) => {
        await transaction.query(note, [item.id]);
        throw new Error('refused');
      }),
    ).rejects.toThrow('refused');
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'registered' });

    const seen: string[] = [];
    await leave((_, item) => {
      seen.push(item.state);
      return Promise.resolve();
    });
    expect(seen).toEqual(['registered']);
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'queued' });
  });

  it('stays where it is while the next state is full', async () => {
    const { hand, leave } = at({ ...batched, name: 'batched-full' });
    const ids = await Promise.all(Array.from({ length: 4 }, () => hand.make()));

    const moved = await Promise.all(ids.map((id) => leave(id, 'picked')));

    expect(moved.map((each) => each.state).sort()).toEqual(['active', 'active', 'processing', 'processing']);
  });

  it.each([
    ['an outcome that its row does not name', resting, 'uploaded'],
    ['a claim, which moves by itself', { ...resting, name: 'resting-claimed' }, 'claimed'],
    ['any outcome, where it does not rest', straight, 'done'],
  ])('is not moved by %s', async (_, pipeline, outcome) => {
    const { hand, leave } = at(pipeline);
    const id = await hand.make();

    await expect(leave(id, outcome)).rejects.toMatchObject({ code: 'state_conflict' });
  });
});
