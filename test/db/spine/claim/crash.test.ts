import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Pipeline } from '../../../../src/core/pipeline.js';
import { claimTask } from '../../../../src/db/spine/claim/claim.js';
import { cancelItem, pauseItem, rescueItem } from '../../../../src/db/spine/control.js';
import { rereadAttempt } from '../../../../src/db/spine/reread.js';
import { holdLock } from '../../../support/barrier.js';
import { attemptsOf, itemOf, taskOf, tasksOf } from '../../../support/facts.js';
import { byHand, FAILURE, findIn, ROOT, useSpine } from '../../../support/spine.js';
import { straight } from '../../../support/tables.js';

const spine = useSpine();

const find = findIn(straight);

/** An item whose task was running at that many worker deaths; the last attempt is still held by `worker`. */
async function crashed(times: number, worker: string): Promise<string> {
  const hand = byHand(spine.pool, straight);
  const id = await hand.make();
  for (let n = 0; n < times; n += 1) await hand.claimed(id, { worker: `dead-${id}-${n}` });
  await hand.claimed(id, { worker });
  return id;
}

describe('a task that was running at a worker death', () => {
  it('is claimed again as an ordinary one the first time', async () => {
    const id = await crashed(1, 'once');
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ crashes: 1, isolated: false, status: 'running' });
  });

  it('is a suspect from the second on, and runs in a process of its own', async () => {
    const id = await crashed(1, 'twice');
    expect(await byHand(spine.pool, straight).claimed(id)).toMatchObject({ isolated: true });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ crashes: 2, isolated: true, ownDeaths: 0 });
  });

  it('is told so again when the answer to its claim was lost', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await crashed(1, 'asks-again');
    const claimId = randomUUID();
    const first = await hand.claimed(id, { claimId });
    expect(await hand.claimed(id, { claimId })).toMatchObject({ fence: first.fence, isolated: true });
  });

  it('does not wait for a place while it is paused', async () => {
    const hand = byHand(spine.pool, straight);
    await crashed(2, 'full');
    const id = await crashed(1, 'asks');
    const asks = async () =>
      (await spine.pool.query('SELECT place_asked_at FROM tasks WHERE item_id = $1', [id])).rows[0] as object;
    expect(await hand.claim(id, { worker: 'full', places: 1 })).toMatchObject({ reason: 'suspect_wait' });
    expect(await asks()).toEqual({ place_asked_at: expect.any(Date) as Date });

    await pauseItem(spine.pool, find, { itemId: id, actor: ROOT, until: { forMs: 60_000 }, reason: 'not now' });
    expect(await hand.claim(id, { worker: 'full', places: 1 })).toMatchObject({ reason: 'paused' });

    expect(await asks()).toEqual({ place_asked_at: null });
  });

  it('spends no error tries by that', async () => {
    const id = await crashed(2, 'tries');
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ errors: 0 });
  });

  it('stays a suspect after an error of its own', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await crashed(2, 'lingers');
    const again = await hand.claimed(id, { worker: 'lingers-on' });
    await hand.commit(again, { is: 'error', error: FAILURE, retryInMs: 0 });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ status: 'waiting', isolated: false });
    await hand.claimed(id, { worker: 'lingers-still' });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ isolated: true });
  });

  it('is blamed for no death of a worker that ran it in a process of its own, however many there are', async () => {
    const id = await crashed(9, 'tenth');
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ crashes: 9, ownDeaths: 0, status: 'running' });
    expect(await itemOf(spine.pool, id)).toMatchObject({ endedAt: null });
  });
});

describe('the number of deaths that make a suspect', () => {
  it.each([1, 3])('is the one that is set: %d', async (suspect) => {
    const hand = byHand(spine.pool, { ...straight, deaths: { suspect, poison: 3 } });
    const id = await hand.make();
    for (let n = 0; n < suspect; n += 1) {
      expect(await hand.claimed(id, { worker: `dead-${id}-${n}` })).not.toHaveProperty('isolated');
    }
    expect(await hand.claimed(id, { worker: `free-${id}` })).toMatchObject({ isolated: true });
  });
});

describe('a suspect of a short stage', () => {
  const hurried: Pipeline = {
    ...straight,
    states: {
      ...straight.states,
      READING: { ...straight.states.READING, does: { ...straight.states.READING.does, short: true } },
    },
  };

  it('is told the same stage as an ordinary activity, by its claim and when its run asks', async () => {
    const hand = byHand(spine.pool, hurried);
    const id = await hand.make();
    for (const n of [1, 2]) await hand.claimed(id, { isLocal: true, worker: `local-${id}-${n}` });

    const told = await hand.claim(id, { isLocal: true });

    expect(told).toMatchObject({ is: 'done', step: { do: 'stage', stage: 'read', short: false } });
    expect(await hand.next(id)).toEqual(told.is === 'done' && told.step);
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ status: 'waiting', crashes: 2 });
    expect(await hand.claimed(id)).toMatchObject({ isolated: true });
  });

  it('is so after its first crash, if one death makes a suspect', async () => {
    const hand = byHand(spine.pool, { ...hurried, deaths: { suspect: 1, poison: 3 } });
    const id = await hand.make();
    await hand.claimed(id, { isLocal: true, worker: `local-${id}` });

    const told = await hand.claim(id, { isLocal: true });

    expect(told).toMatchObject({ is: 'done', step: { stage: 'read', short: false } });
    expect(await hand.next(id)).toEqual(told.is === 'done' && told.step);
    expect(await hand.claimed(id, { worker: `free-${id}` })).toMatchObject({ isolated: true });
  });

  it('is a local activity still after one crash', async () => {
    const hand = byHand(spine.pool, hurried);
    const id = await hand.make();
    await hand.claimed(id, { isLocal: true, worker: 'died-once' });
    expect(await hand.claimed(id, { isLocal: true, worker: 'next' })).not.toHaveProperty('isolated');
    expect((await tasksOf(spine.pool, id))[0]).toMatchObject({ crashes: 1 });
    expect(await hand.next(id)).toMatchObject({ do: 'stage', short: true });
  });
});

describe('the isolated places of a worker', () => {
  it('are taken up to their number; the next suspect waits, and runs elsewhere or later', async () => {
    const hand = byHand(spine.pool, straight);
    const [first] = [await crashed(2, 'crowded'), await crashed(2, 'crowded')];
    const third = await crashed(1, 'third-died');

    expect(await hand.claim(third, { worker: 'crowded', places: 2 })).toEqual({
      ...{ is: 'hold', forMs: 500, reason: 'suspect_wait' },
    });
    expect(await taskOf(spine.pool, third, 'read')).toMatchObject({ status: 'waiting', crashes: 2, ownDeaths: 0 });

    expect(await hand.claim(third, { worker: 'empty', places: 2 })).toMatchObject({ is: 'run' });
    await hand.commit(await hand.claimed(third, { worker: 'empty-2' }), { is: 'released', why: 'shutdown' });
    await hand.finish(await hand.claimed(first, { worker: 'crowded' }));
    expect(await hand.claim(third, { worker: 'crowded', places: 2 })).toMatchObject({ is: 'run' });
  });

  it('are given out one at a time when suspects claim in the same moment', async () => {
    const hand = byHand(spine.pool, straight);
    const ids = [await crashed(2, 'x'), await crashed(2, 'y')];
    const attempts = await Promise.all(ids.map((id) => hand.attempt(id, { worker: 'narrow', places: 1 })));
    const barrier = await holdLock(spine, `SELECT pg_advisory_xact_lock(hashtextextended('isolated:narrow', 0))`);
    const claims = [];
    for (const attempt of attempts) claims.push(await barrier.start((pool) => claimTask(pool, straight, attempt)));
    await barrier.release();

    const answers = await Promise.all(claims.map(({ result }) => result));

    expect(answers.map((each) => each.is).sort()).toEqual(['hold', 'run']);
  });

  it('are free again once the item that had one is cancelled', async () => {
    const hand = byHand(spine.pool, straight);
    const first = await crashed(2, 'freed');
    const second = await crashed(2, 'elsewhere');
    await cancelItem(spine.pool, find, { itemId: first, actor: ROOT });

    expect(await hand.claim(second, { worker: 'freed', places: 1 })).toMatchObject({ is: 'run' });
  });

  it('are asked for less often the more suspects wait', async () => {
    const hand = byHand(spine.pool, straight);
    await crashed(2, 'busy');
    const waits: number[] = [];
    for (let n = 0; n < 30; n += 1) {
      const claim = await hand.claim(await crashed(1, `waiting-${n}`), { worker: 'busy', places: 1 });
      if (claim.is === 'hold') waits.push(claim.forMs);
    }
    expect(waits).toHaveLength(30);
    expect(waits.at(-1)).toBeGreaterThan(1_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(4_000);
    await spine.pool.query('UPDATE tasks SET place_asked_at = NULL');
  });

  it('do not make the crashed attempt believe that it was committed while the task waits for one', async () => {
    const hand = byHand(spine.pool, straight);
    await crashed(2, 'full');
    const id = await crashed(1, 'z');
    const frozen = await hand.claimed(id, { worker: 'frozen' });
    expect(await hand.claim(id, { worker: 'full', places: 1 })).toMatchObject({ is: 'hold', reason: 'suspect_wait' });

    expect(await rereadAttempt(spine.pool, frozen)).toBe('superseded');
    expect(await hand.finish(frozen)).toBe('superseded');
  });
});

describe('no crash is counted', () => {
  it('when a worker shuts down and releases its task', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    for (let n = 0; n < 6; n += 1) await hand.commit(await hand.claimed(id), { is: 'released', why: 'shutdown' });

    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({
      status: 'waiting',
      crashes: 0,
      errors: 0,
      attempt: 6,
    });
    expect(await attemptsOf(spine.pool, id)).toEqual(Array(6).fill('read shutdown'));
  });

  it('when a rescue takes the task from a worker that may be alive', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    for (let n = 0; n < 6; n += 1) {
      await hand.claimed(id, { worker: `slow-${n}` });
      await rescueItem(spine.pool, find, { itemId: id, actor: ROOT });
    }

    expect(await hand.claim(id)).toMatchObject({ is: 'run', claimed: { attempt: 7 } });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ crashes: 0, isolated: false });
  });
});
