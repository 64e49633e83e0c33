import { beforeAll, describe, expect, it } from 'vitest';
import { itemOf, taskOf } from '../../../support/facts.js';
import { byHand, useSpine } from '../../../support/spine.js';
import { straight } from '../../../support/tables.js';

const spine = useSpine();
let hand: ReturnType<typeof byHand>;
beforeAll(() => {
  hand = byHand(spine.pool, straight);
});

/** Claims each item on the worker, and leaves them there: their next claim finds that it died under them. */
async function dieTogether(worker: string, ...ids: string[]): Promise<void> {
  for (const id of ids) await hand.claimed(id, { worker });
}

/** Brings down three processes that run nothing else. */
async function condemn(id: string, name: string): Promise<void> {
  for (let n = 0; n < 3; n += 1) await hand.die(await hand.claimed(id, { worker: name }));
  expect(await itemOf(spine.pool, id)).toMatchObject({ endReason: 'POISON' });
}

async function condemnTwiceMore(id: string): Promise<void> {
  for (let n = 0; n < 2; n += 1) await hand.die(await hand.claimed(id, { worker: 'parent-of-both' }));
  expect(await itemOf(spine.pool, id)).toMatchObject({ endReason: 'POISON' });
}

describe('when an item is found to be poison', () => {
  it('who died beside it twice is no suspect any more, and runs beside others', async () => {
    const [poison, neighbour, other] = [await hand.make(), await hand.make(), await hand.make()];
    await dieTogether('shared-1', poison, neighbour);
    await dieTogether('shared-2', poison, neighbour);
    for (const worker of ['own-1', 'own-2', 'crowded']) await dieTogether(worker, other);
    expect(await hand.claim(neighbour, { worker: 'crowded', places: 1 })).toMatchObject({ reason: 'suspect_wait' });

    await condemn(poison, 'alone');

    expect(await taskOf(spine.pool, neighbour, 'read')).toMatchObject({ crashes: 0, isolated: false });
    expect(await hand.claimed(neighbour, { worker: 'crowded', places: 1 })).not.toHaveProperty('isolated');
    // Tasks that never ran beside it stay as they are.
    expect(await taskOf(spine.pool, other, 'read')).toMatchObject({ crashes: 2, isolated: true });
  });

  it('a task that is still a suspect keeps its turn, by the number of deaths that is set', async () => {
    const strict = byHand(spine.pool, { ...straight, deaths: { suspect: 1, poison: 3 } });
    const [poison, neighbour, other] = [await strict.make(), await strict.make(), await strict.make()];
    for (const worker of ['strict-own', 'strict-full']) await strict.claimed(other, { worker });
    for (const id of [poison, neighbour]) await strict.claimed(id, { worker: 'strict-shared' });
    await strict.claimed(neighbour, { worker: 'strict-elsewhere' });
    expect(await strict.claim(neighbour, { worker: 'strict-full', places: 1 })).toMatchObject({
      reason: 'suspect_wait',
    });

    for (let n = 0; n < 3; n += 1) await strict.die(await strict.claimed(poison, { worker: 'strict-alone' }));

    const { rows } = await spine.pool.query(
      'SELECT crashes, place_asked_at IS NOT NULL AS asks FROM tasks WHERE item_id = $1',
      [neighbour],
    );
    expect(rows).toEqual([{ crashes: 1, asks: true }]);
  });

  it('deaths that it did not share still count', async () => {
    const [poison, neighbour] = [await hand.make(), await hand.make()];
    await dieTogether('both-1', poison, neighbour);
    await dieTogether('elsewhere-1', neighbour);
    await dieTogether('both-2', poison);
    await dieTogether('elsewhere-2', neighbour);
    await dieTogether('elsewhere-3', neighbour);
    expect(await taskOf(spine.pool, neighbour, 'read')).toMatchObject({ crashes: 3, isolated: true });

    await condemn(poison, 'by-itself');

    expect(await taskOf(spine.pool, neighbour, 'read')).toMatchObject({ crashes: 2, isolated: true });
  });

  it('deaths of a process of its own still count, even of one beside it', async () => {
    const [poison, neighbour] = [await hand.make(), await hand.make()];
    await dieTogether('last-1', poison, neighbour);
    await dieTogether('last-2', poison, neighbour);
    const beside = await hand.claimed(neighbour, { worker: 'parent-of-both' });
    const own = await hand.claimed(poison, { worker: 'parent-of-both' });
    await Promise.all([hand.die(beside), hand.die(own)]);

    await condemnTwiceMore(poison);

    expect(await taskOf(spine.pool, neighbour, 'read')).toMatchObject({ crashes: 1, ownDeaths: 1 });
    expect(await hand.claimed(neighbour, { worker: 'shared-again' })).toMatchObject({ isolated: true });
  });

  it('another poison item beside it is found all the same', async () => {
    const [first, second] = [await hand.make(), await hand.make()];
    await dieTogether('pair-1', first, second);
    await dieTogether('pair-2', first, second);
    await condemn(first, 'first');

    // The last death beside the poisoned task was not counted yet. One more death makes the task a suspect again.
    await dieTogether('second', second);
    await condemn(second, 'second');
  });

  it('deaths that it shared with two of them are forgiven, and never more than there were', async () => {
    const [first, second, neighbour] = [await hand.make(), await hand.make(), await hand.make()];
    await dieTogether('three-1', first, second, neighbour);
    await dieTogether('three-2', first, second, neighbour);
    await hand.claimed(neighbour, { worker: 'three-3' });
    await condemn(first, 'first-of-two');
    await dieTogether('second-of-two', second);
    await condemn(second, 'second-of-two');

    expect(await taskOf(spine.pool, neighbour, 'read')).toMatchObject({ crashes: 0 });
    // A task that has ended keeps its counts.
    expect((await taskOf(spine.pool, first, 'read')).crashes).toBe(5);
  });

  it('a neighbour that is being written at that moment is passed over, and waits for nobody', async () => {
    const [poison, neighbour] = [await hand.make(), await hand.make()];
    await dieTogether('near-1', poison, neighbour);
    await dieTogether('near-2', poison, neighbour);
    await hand.claimed(neighbour, { worker: 'now' });
    const writer = await spine.pool.connect();
    try {
      await writer.query('BEGIN');
      await writer.query('SELECT 1 FROM tasks WHERE item_id = $1 FOR UPDATE', [neighbour]);
      await condemn(poison, 'unhindered');
    } finally {
      await writer.query('ROLLBACK');
      writer.release();
    }
    expect(await taskOf(spine.pool, neighbour, 'read')).toMatchObject({ crashes: 2, isolated: true });
  });
});
