import { describe, expect, it } from 'vitest';
import { cancelItem, rescueItem } from '../../../src/db/spine/control.js';
import { rereadAttempt } from '../../../src/db/spine/reread.js';
import { attemptsOf, auditOf, effectsOf, itemOf, taskOf, trailFaults } from '../../support/facts.js';
import { receiptsOf } from '../../support/receipts.js';
import { byHand, FAILURE, findIn, KILLED, ROOT, useSpine } from '../../support/spine.js';
import { reviewed, spreadAll, straight } from '../../support/tables.js';

const spine = useSpine();

const find = findIn(straight, spreadAll, reviewed);

/** An item whose task was running at two worker deaths, claimed for a process of its own. */
async function isolated(hand = byHand(spine.pool, straight)) {
  const id = await hand.make();
  for (const n of [1, 2]) await hand.claimed(id, { worker: `dead-${id}-${n}` });
  return { hand, id, claimed: await hand.claimed(id, { worker: `parent-${id}` }) };
}

describe('the death of a process that ran one task alone', () => {
  it('is blamed on the task, which is tried again at once and shows why it failed', async () => {
    const { hand, id, claimed } = await isolated();

    expect(await hand.die(claimed)).toBe('blamed');

    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({
      ...{ status: 'waiting', crashes: 3, ownDeaths: 1, errors: 0, isolated: false },
    });
    expect(await attemptsOf(spine.pool, id)).toEqual(Array(3).fill('read crash'));
    const [, , receipt] = await receiptsOf(spine.pool, id);
    expect(receipt).toMatchObject({ reason: 'worker_died', result: 'waiting' });
    expect(await hand.claimed(id)).toMatchObject({ isolated: true, attempt: 4 });
    expect((await receiptsOf(spine.pool, id))[2]).toMatchObject({ result: 'moving' });
  });

  it('leaves a receipt of silence where the process was killed for its silence', async () => {
    const { hand, id, claimed } = await isolated();
    await hand.die(claimed, { isSilent: true, how: 'said nothing for 4 s' });
    expect((await receiptsOf(spine.pool, id))[2]).toMatchObject({ reason: 'silent_worker' });
  });

  it('blames nobody after its commit', async () => {
    const { hand, id, claimed } = await isolated();
    await hand.finish(claimed);

    expect(await hand.die(claimed)).toBe('superseded');

    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ status: 'done', crashes: 2, ownDeaths: 0 });
  });

  it('blames nobody once another attempt has the task', async () => {
    const { hand, id, claimed } = await isolated();
    await hand.claimed(id, { worker: 'another' });

    expect(await hand.die(claimed)).toBe('superseded');

    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ status: 'running', ownDeaths: 0 });
  });

  it('blames nobody once its item was rescued or cancelled', async () => {
    const rescued = await isolated();
    await rescueItem(spine.pool, find, { itemId: rescued.id, actor: ROOT });
    const cancelled = await isolated();
    await cancelItem(spine.pool, find, { itemId: cancelled.id, actor: ROOT });

    expect(await rescued.hand.die(rescued.claimed)).toBe('superseded');
    expect(await cancelled.hand.die(cancelled.claimed)).toBe('superseded');
  });

  it('makes every later write of that process void', async () => {
    const { hand, id, claimed } = await isolated();
    await hand.die(claimed);

    expect(await rereadAttempt(spine.pool, claimed)).toBe('superseded');
    expect(await hand.finish(claimed)).toBe('superseded');
    expect(await effectsOf(spine.pool, id)).toEqual([]);
  });
});

describe('the third death of a process that ran one task alone', () => {
  it('ends the item as poison', async () => {
    const { hand, id, claimed } = await isolated();
    await hand.die(claimed);
    await hand.die(await hand.claimed(id));
    expect(await itemOf(spine.pool, id)).toMatchObject({ endedAt: null });

    expect(await hand.die(await hand.claimed(id))).toBe('poison');

    expect(await itemOf(spine.pool, id)).toMatchObject({
      ...{ state: 'FAILED', endReason: 'POISON', errorStage: 'read', errorClass: 'WORKER_CRASH' },
    });
    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({
      ...{ from: 'READING', to: 'FAILED', trigger: 'poison', actor: 'system' },
    });
    expect(await trailFaults(spine.pool, id)).toEqual([]);
    expect((await receiptsOf(spine.pool, id)).at(-1)).toMatchObject({ reason: 'worker_died', result: 'poison' });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ isolated: false, status: 'waiting', ownDeaths: 3 });
    expect(await hand.claim(id)).toEqual({ is: 'superseded' });
  });

  it('counts deaths of workers in between for nothing', async () => {
    const { hand, id, claimed } = await isolated();
    await hand.die(claimed);
    for (const n of [1, 2, 3]) await hand.claimed(id, { worker: `unlucky-${id}-${n}` });
    await hand.die(await hand.claimed(id));

    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ crashes: 7, ownDeaths: 2 });
    expect(await itemOf(spine.pool, id)).toMatchObject({ endedAt: null });
  });

  it('ends the whole item if the task is a unit', async () => {
    const hand = byHand(spine.pool, spreadAll);
    const id = await hand.make();
    await hand.finish(await hand.claimed(id, { stage: 'prepare' }), 'done', ['good', 'bad']);
    await hand.claimed(id, { stage: 'upload', unit: 'good', worker: 'healthy' });
    await hand.poison(id, { stage: 'upload', unit: 'bad' });

    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'FAILED', endReason: 'POISON' });
    expect(await taskOf(spine.pool, id, 'upload', 'good')).toMatchObject({ status: 'waiting' });
  });

  it('takes the item to a person where the table says so, in a run of its own', async () => {
    const hand = byHand(spine.pool, { ...reviewed, rescue: { ...reviewed.rescue, exhausted: 'NEEDS_REVIEW' } });
    const id = await hand.make();
    await hand.poison(id);

    expect(await itemOf(spine.pool, id)).toMatchObject({
      ...{ state: 'NEEDS_REVIEW', epoch: 2, started: false, endedAt: null },
    });
  });

  it('takes the item where all others go, whatever it failed with before: an outage explains no crash', async () => {
    const hand = byHand(spine.pool, reviewed);
    const id = await hand.make();
    await hand.commit(await hand.claimed(id), { is: 'error', error: { ...FAILURE, class: 'LLM_ERROR' }, retryInMs: 0 });
    await hand.poison(id);

    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'REJECTED', endReason: 'POISON' });
  });

  it('is written once, if two reports of it meet', async () => {
    const { hand, id, claimed } = await isolated();
    await hand.die(claimed);
    await hand.die(await hand.claimed(id));
    const last = await hand.claimed(id);

    const answers = await Promise.all([hand.die(last, KILLED), hand.die(last, KILLED)]);

    expect(answers.sort()).toEqual(['poison', 'superseded']);
    expect((await auditOf(spine.pool, id)).filter(({ trigger }) => trigger === 'poison')).toHaveLength(1);
  });
});

describe('the number of deaths that make poison', () => {
  it.each([
    [1, 'read brought down a process that ran nothing else'],
    [2, 'read brought down 2 processes that ran nothing else'],
  ])('is the one that is set, and the reason names it: %d', async (poison, errorMessage) => {
    const { hand, id, claimed } = await isolated(byHand(spine.pool, { ...straight, deaths: { suspect: 2, poison } }));
    for (let n = 1; n < poison; n += 1) {
      expect(await hand.die(n === 1 ? claimed : await hand.claimed(id))).toBe('blamed');
    }
    expect(await hand.die(poison === 1 ? claimed : await hand.claimed(id))).toBe('poison');

    expect(await itemOf(spine.pool, id)).toMatchObject({ endReason: 'POISON', errorMessage });
  });

  it('may be lowered below the deaths that were counted before: the next death ends the item, and all are named', async () => {
    const { hand, id, claimed } = await isolated();
    await hand.die(claimed);
    await hand.die(await hand.claimed(id));
    const lowered = byHand(spine.pool, { ...straight, deaths: { suspect: 2, poison: 1 } });

    expect(await lowered.die(await lowered.claimed(id))).toBe('poison');

    expect((await itemOf(spine.pool, id)).errorMessage).toBe('read brought down 3 processes that ran nothing else');
  });
});
