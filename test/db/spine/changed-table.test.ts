import { describe, expect, it } from 'vitest';
import { definePipeline, fanOut, type Pipeline, stage, type StageRow } from '../../../src/core/pipeline.js';
import { effectsOf, itemOf, tasksOf, trailFaults } from '../../support/facts.js';
import { byHand, FAILURE, useSpine } from '../../support/spine.js';

/** New code comes with a new table while items are under way. Whatever their runs were told by the old one, they go on. */

const spine = useSpine();

const spent = { move: 'FAILED' } as const;
function plain<const Name extends string>(name: Name) {
  return stage(name, { tries: 3, within: '10s', spent });
}
function units(width: number) {
  return fanOut('upload', { tries: 2, within: '10s', width, needs: 'all', spent });
}

function tableOf(...does: StageRow<string, 'FAILED'>[]): Pipeline {
  return definePipeline({
    name: 'changing',
    start: 'WORKING',
    sweep: { every: '10s', staleAfter: '5s', stuckAfter: '15s' },
    rescue: { budget: 3, backoff: ['2s'], budgetResetAfter: '24h', oldestRescued: '7d', exhausted: 'FAILED' },
    cancelled: 'FAILED',
    states: { WORKING: { does, then: { done: 'DONE' } }, DONE: { ends: 'done' }, FAILED: { ends: 'failed' } },
  });
}

const before = tableOf(plain('a'), plain('b'), plain('c'));

/** Walks with the table until the item ends, beginning with the stage its run was told by the old one. */
async function goOn(table: Pipeline, id: string, told: string): Promise<string[]> {
  const hand = byHand(spine.pool, table);
  const ran: string[] = [];
  let step = await stepAt(told);
  while (step.do !== 'end') {
    if (step.do === 'stage') step = await stepAt(step.stage);
    else if (step.do === 'units')
      for (const unit of step.units) await hand.finish(await hand.claimed(id, { stage: step.stage, unit }));
    if (step.do !== 'stage' && step.do !== 'end') step = await hand.next(id);
    if (ran.length > 20) throw new Error(`it goes round: ${ran.join(' ')}`);
  }
  return ran;

  async function stepAt(name: string) {
    const claim = await hand.claim(id, { stage: name });
    if (claim.is === 'done') return claim.step;
    if (claim.is !== 'run') throw new Error(claim.is);
    ran.push(name);
    const committed = await hand.finish(claim.claimed);
    if (committed === 'superseded') throw new Error('refused');
    return committed;
  }
}

describe('a table that changed under an item which has done a, and whose run was told b', () => {
  it.each([
    ['is as it was', before, ['b', 'c']],
    ['has a stage more in front', tableOf(plain('x'), plain('a'), plain('b'), plain('c')), ['x', 'b', 'c']],
    ['has a stage more in between', tableOf(plain('a'), plain('x'), plain('b'), plain('c')), ['x', 'b', 'c']],
    ['has a stage more at the end', tableOf(plain('a'), plain('b'), plain('c'), plain('x')), ['b', 'c', 'x']],
    ['has the rest in another order', tableOf(plain('a'), plain('c'), plain('b')), ['c', 'b']],
    ['has what is done last', tableOf(plain('c'), plain('b'), plain('a')), ['c', 'b']],
    ['has lost the stage it was told', tableOf(plain('a'), plain('c')), ['c']],
    ['has lost the stage it has done', tableOf(plain('b'), plain('c')), ['b', 'c']],
    ['has lost all that was left', tableOf(plain('a')), []],
    [
      'has the stage made short',
      tableOf(plain('a'), stage('b', { tries: 3, within: '2s', short: true, spent }), plain('c')),
      ['b', 'c'],
    ],
    [
      'has the stage made one that may be skipped',
      tableOf(plain('a'), stage('b', { tries: 3, within: '2s', spent: 'skip' }), plain('c')),
      ['b', 'c'],
    ],
  ] as const)('%s', async (_, table, ran) => {
    const hand = byHand(spine.pool, before);
    const id = await hand.make();
    await hand.walk(id, 'a');

    expect(await goOn(table, id, 'b')).toEqual(ran);

    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'DONE' });
    expect(await trailFaults(spine.pool, id)).toEqual([]);
    expect(new Set(await effectsOf(spine.pool, id)).size).toBe(ran.length + 1);
  });

  it('leaves an earlier skip as it was when the stage is no longer skipped', async () => {
    const skipping = tableOf(plain('a'), stage('b', { tries: 1, within: '10s', spent: 'skip' }), plain('c'));
    const hand = byHand(spine.pool, skipping);
    const id = await hand.make();
    await hand.walk(id, 'a');
    await hand.commit(await hand.claimed(id, { stage: 'b' }), { is: 'spent', error: FAILURE });

    expect(await goOn(before, id, 'c')).toEqual(['c']);
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'DONE' });
  });
});

describe('a fan-out whose table changed', () => {
  const spread = tableOf(plain('a'), units(4), plain('c'));

  it('has the new width from its next window on', async () => {
    const hand = byHand(spine.pool, spread);
    const id = await hand.make();
    expect(await hand.finish(await hand.claimed(id), 'done', ['u', 'v'])).toMatchObject({ width: 4 });

    expect(await byHand(spine.pool, tableOf(plain('a'), units(9), plain('c'))).next(id)).toMatchObject({
      width: 9,
      units: ['u', 'v'],
    });
  });

  it('waits for a stage that was put in front of it, and loses no unit by that', async () => {
    const hand = byHand(spine.pool, spread);
    const id = await hand.make();
    await hand.finish(await hand.claimed(id), 'done', ['u', 'v']);
    const changed = tableOf(plain('x'), plain('a'), units(4), plain('c'));
    const other = byHand(spine.pool, changed);

    expect(await other.claim(id, { stage: 'upload', unit: 'u' })).toMatchObject({
      is: 'done',
      step: { do: 'stage', stage: 'x' },
    });
    expect(await goOn(changed, id, 'x')).toEqual(['x', 'c']);
    expect((await tasksOf(spine.pool, id)).every((each) => each.status === 'done')).toBe(true);
  });

  it('is not skipped by the run that was told the stage after it', async () => {
    const hand = byHand(spine.pool, spread);
    const id = await hand.make();
    await hand.finish(await hand.claimed(id), 'done', ['u', 'v']);

    expect(await hand.claim(id, { stage: 'c' })).toMatchObject({
      is: 'done',
      step: { do: 'units', units: ['u', 'v'] },
    });
  });
});
