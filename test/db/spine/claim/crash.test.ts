import { describe, expect, it } from 'vitest';
import { claimTask } from '../../../../src/db/spine/claim/claim.js';
import { cancelItem, rescueItem } from '../../../../src/db/spine/control.js';
import { rereadAttempt } from '../../../../src/db/spine/reread.js';
import { holdLock } from '../../../support/barrier.js';
import { attemptsOf, auditOf, effectsOf, itemOf, taskOf, trailFaults } from '../../../support/facts.js';
import { byHand, FAILURE, findIn, ROOT, useSpine } from '../../../support/spine.js';
import { reviewed, spreadAll, straight } from '../../../support/tables.js';

const spine = useSpine();

const find = findIn(straight, spreadAll, reviewed);

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
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ crashes: 1, suspect: false, status: 'running' });
  });

  it('is a suspect from the second on, and runs when its worker has no other', async () => {
    const id = await crashed(2, 'twice');
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ crashes: 2, suspect: true, soleCrashes: 0 });
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
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ status: 'waiting', suspect: false });
    await hand.claimed(id, { worker: 'lingers-still' });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ suspect: true });
  });
});

describe('two suspects on one worker', () => {
  it('do not run at once: one holds, elsewhere it may run, and later here', async () => {
    const hand = byHand(spine.pool, straight);
    const first = await crashed(2, 'crowded');
    const second = await crashed(2, 'second-died');

    expect(await hand.claim(second, { worker: 'crowded' })).toEqual({
      is: 'hold',
      forMs: 2_000,
      reason: 'suspect_wait',
    });
    expect(await taskOf(spine.pool, second, 'read')).toMatchObject({ status: 'waiting', crashes: 3, soleCrashes: 1 });

    expect(await hand.claim(second, { worker: 'empty' })).toMatchObject({ is: 'run' });
    await hand.commit(await hand.claimed(second, { worker: 'empty-2' }), { is: 'released', why: 'shutdown' });
    await hand.finish(await hand.claimed(first, { worker: 'crowded' }));
    expect(await hand.claim(second, { worker: 'crowded' })).toMatchObject({ is: 'run' });
  });

  it('run one at a time when they claim in the same moment', async () => {
    const hand = byHand(spine.pool, straight);
    const ids = [await crashed(2, 'x'), await crashed(2, 'y')];
    const attempts = await Promise.all(ids.map((id) => hand.attempt(id, { worker: 'narrow' })));
    const barrier = await holdLock(spine, `SELECT pg_advisory_xact_lock(hashtextextended('suspects:narrow', 0))`);
    const claims = [];
    for (const attempt of attempts) claims.push(await barrier.start((pool) => claimTask(pool, straight, attempt)));
    await barrier.release();

    const answers = await Promise.all(claims.map(({ result }) => result));

    expect(answers.map((each) => each.is).sort()).toEqual(['hold', 'run']);
  });

  it('leave its place to another once the item of the first is cancelled', async () => {
    const hand = byHand(spine.pool, straight);
    const first = await crashed(2, 'freed');
    const second = await crashed(2, 'elsewhere');
    await cancelItem(spine.pool, find, { itemId: first, actor: ROOT });

    expect(await hand.claim(second, { worker: 'freed' })).toMatchObject({ is: 'run' });
  });

  it('does not make the crashed attempt believe that it was committed while the task waits its turn', async () => {
    const hand = byHand(spine.pool, straight);
    await crashed(2, 'full');
    const id = await crashed(1, 'z');
    const frozen = await hand.claimed(id, { worker: 'frozen' });
    expect(await hand.claim(id, { worker: 'full' })).toMatchObject({ is: 'hold', reason: 'suspect_wait' });

    expect(await rereadAttempt(spine.pool, frozen)).toBe('superseded');
    expect(await hand.finish(frozen)).toBe('superseded');
  });
});

describe('a task that brought down three workers as their only suspect', () => {
  it('ends its item as poison: two crashes made it a suspect, three more condemn it', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await crashed(4, 'the-fifth');
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ crashes: 4, soleCrashes: 2, suspect: true });
    const last = await hand.attempt(id, { worker: 'never' });

    expect(await claimTask(spine.pool, straight, last)).toEqual({ is: 'superseded' });

    expect(await itemOf(spine.pool, id)).toMatchObject({
      state: 'FAILED',
      endReason: 'POISON',
      errorStage: 'read',
      errorClass: 'WORKER_CRASH',
    });
    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({
      from: 'READING',
      to: 'FAILED',
      trigger: 'poison',
      actor: 'system',
    });
    expect(await attemptsOf(spine.pool, id)).toEqual(Array(5).fill('read crash'));
    expect(await trailFaults(spine.pool, id)).toEqual([]);
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ suspect: false, status: 'waiting' });
  });

  it('leaves nothing that a zombie could commit, and says so when asked', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await crashed(3, 'before');
    const zombie = await hand.claimed(id, { worker: 'zombie' });
    await hand.claim(id);

    expect(await rereadAttempt(spine.pool, zombie)).toBe('superseded');
    expect(await hand.finish(zombie)).toBe('superseded');
    expect(await effectsOf(spine.pool, id)).toEqual([]);
  });

  it('ends the whole item if the task is a unit', async () => {
    const hand = byHand(spine.pool, spreadAll);
    const id = await hand.make();
    await hand.finish(await hand.claimed(id, { stage: 'prepare' }), 'done', ['good', 'bad']);
    for (let n = 0; n < 5; n += 1) await hand.claimed(id, { stage: 'upload', unit: 'bad', worker: `unit-${n}` });
    await hand.claimed(id, { stage: 'upload', unit: 'good', worker: 'healthy' });

    expect(await hand.claim(id, { stage: 'upload', unit: 'bad' })).toEqual({ is: 'superseded' });
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'FAILED', endReason: 'POISON' });
    expect(await taskOf(spine.pool, id, 'upload', 'good')).toMatchObject({ status: 'waiting' });
  });

  it('goes to a person where the table says so, in a run of its own', async () => {
    const hand = byHand(spine.pool, { ...reviewed, rescue: { ...reviewed.rescue, exhausted: 'NEEDS_REVIEW' } });
    const id = await hand.make();
    for (let n = 0; n < 5; n += 1) await hand.claimed(id, { worker: `judge-${n}` });

    expect(await hand.claim(id)).toEqual({ is: 'superseded' });
    expect(await itemOf(spine.pool, id)).toMatchObject({
      state: 'NEEDS_REVIEW',
      epoch: 2,
      started: false,
      endedAt: null,
    });
  });

  it('goes where all others do, whatever it failed with before: an outage explains no crash', async () => {
    const hand = byHand(spine.pool, reviewed);
    const id = await hand.make();
    await hand.commit(await hand.claimed(id), { is: 'error', error: { ...FAILURE, class: 'LLM_ERROR' }, retryInMs: 0 });
    for (let n = 0; n < 5; n += 1) await hand.claimed(id, { worker: `poisoned-${n}` });

    expect(await hand.claim(id)).toEqual({ is: 'superseded' });
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'REJECTED', endReason: 'POISON' });
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
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ crashes: 0, suspect: false });
  });
});
