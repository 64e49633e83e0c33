import { describe, expect, it } from 'vitest';
import { UNITS_PER_WINDOW } from '../../../src/core/step.js';
import { cancelItem, rescueItem } from '../../../src/db/spine/control.js';
import { decideItem } from '../../../src/db/spine/decide-item.js';
import { nextStep } from '../../../src/db/spine/next-step.js';
import { auditOf, effectsOf, itemOf, movesOf, trailFaults } from '../../support/facts.js';
import { byHand, type ByHand, FAILURE, findIn, ROOT, useSpine } from '../../support/spine.js';
import { definePipeline, type Pipeline, stage } from '../../../src/core/pipeline.js';
import {
  batched,
  resting,
  reviewed,
  several,
  spreadAll,
  spreadAny,
  spreadAsked,
  spreadLast,
  straight,
} from '../../support/tables.js';

const spine = useSpine();

describe('a run that asks where its item is', () => {
  it('is told to end when the item has', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await hand.walk(id, 'read:empty');

    expect(await hand.next(id)).toEqual({ do: 'end', why: 'final' });
  });

  it('is told to end when a later run has the item, and leaves that run to be started', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await hand.next(id);
    await rescueItem(spine.pool, findIn(straight), { itemId: id, actor: ROOT });

    expect(await nextStep(spine.pool, straight, { itemId: id, epoch: 1 })).toEqual({ do: 'end', why: 'superseded' });
    expect(await itemOf(spine.pool, id)).toMatchObject({ epoch: 2, started: false });
  });

  it('is told to wait for a person, and has seen the row by that', async () => {
    const hand = byHand(spine.pool, reviewed);
    const id = await hand.make();
    await hand.walk(id, 'judge:concerns');
    await decideItem(spine.pool, findIn(reviewed), { itemId: id, actor: ROOT, id: `one-${id}`, outcome: 'escalate' });
    expect(await itemOf(spine.pool, id)).toMatchObject({ wakeAfter: expect.any(Date) as Date });

    expect(await hand.next(id)).toEqual({
      do: 'wait',
      state: 'SECOND_REVIEW',
      forMs: null,
      reason: 'awaiting_decision',
    });
    expect(await itemOf(spine.pool, id)).toMatchObject({ wakeAfter: null });
  });

  it('is told the stage whose first claim moves the item out of its rest', async () => {
    const hand = byHand(spine.pool, resting);
    const id = await hand.make();
    await spine.pool.query(`UPDATE items SET state = 'queued' WHERE id = $1`, [id]);

    expect(await hand.next(id)).toMatchObject({ do: 'stage', state: 'converting', stage: 'convert' });
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'queued' });
  });

  it('is told to end where the item rests until something else moves it', async () => {
    const hand = byHand(spine.pool, batched);
    expect(await hand.next(await hand.make({ dedupeKey: 'rests' }))).toEqual({ do: 'end', why: 'left' });
  });
});

describe('a state with several stages', () => {
  it('goes on with the first that has not ended, whatever the run believed', async () => {
    const hand = byHand(spine.pool, several);
    const id = await hand.make();
    await hand.walk(id, 'extract');
    await hand.commit(await hand.claimed(id, { stage: 'enrich' }), { is: 'spent', error: FAILURE });

    expect(await hand.next(id)).toMatchObject({ do: 'stage', stage: 'judge', visit: 1 });
    await hand.claimed(id, { stage: 'judge' });
    expect(await hand.next(id)).toMatchObject({ do: 'stage', stage: 'judge' });
    await hand.walk(id, 'judge', 'remember');
    expect(await hand.next(id)).toMatchObject({ do: 'stage', stage: 'summarise' });
  });
});

async function spreadOver(hand: ByHand, units: string[], item = {}): Promise<string> {
  const id = await hand.make(item);
  await hand.finish(await hand.claimed(id), 'done', units);
  return id;
}

async function failUnit(hand: ByHand, id: string, unit: string): Promise<void> {
  const error = { ...FAILURE, message: `${unit} is broken` };
  await hand.commit(await hand.claimed(id, { stage: 'upload', unit }), { is: 'spent', error });
}

async function finishUnit(hand: ByHand, id: string, unit: string): Promise<void> {
  await hand.finish(await hand.claimed(id, { stage: 'upload', unit }));
}

describe('a fan-out', () => {
  it('is handed out in windows, in order, until no unit is left', async () => {
    const hand = byHand(spine.pool, spreadAll);
    const units = Array.from({ length: UNITS_PER_WINDOW + 30 }, (_, n) => `u${n}`);
    const id = await spreadOver(hand, units);

    expect(await hand.next(id)).toMatchObject({
      do: 'units',
      stage: 'upload',
      units: units.slice(0, UNITS_PER_WINDOW),
      width: 4,
    });
    await spine.pool.query(
      `UPDATE tasks SET status = 'done', outcome = 'done' WHERE item_id = $1 AND unit <> '' AND position <= $2`,
      [id, UNITS_PER_WINDOW - 1],
    );
    expect(await hand.next(id)).toMatchObject({ do: 'units', units: units.slice(UNITS_PER_WINDOW - 1) });
    await spine.pool.query(`UPDATE tasks SET status = 'done', outcome = 'done' WHERE item_id = $1`, [id]);
    expect(await hand.next(id)).toMatchObject({ do: 'stage', stage: 'finish' });
  });

  it('hands out a running unit too, because its attempt may be lost', async () => {
    const hand = byHand(spine.pool, spreadAll);
    const id = await spreadOver(hand, ['a', 'b']);
    await hand.claimed(id, { stage: 'upload', unit: 'a' });

    expect(await hand.next(id)).toMatchObject({ units: ['a', 'b'] });
  });

  it('fails its item when the last unit has ended, not when the first has failed, if it needs all units', async () => {
    const hand = byHand(spine.pool, spreadAll);
    const id = await spreadOver(hand, ['a', 'b', 'c']);
    await failUnit(hand, id, 'b');
    await finishUnit(hand, id, 'a');
    expect(await hand.next(id)).toMatchObject({ do: 'units', units: ['c'] });
    await finishUnit(hand, id, 'c');

    expect(await hand.next(id)).toEqual({ do: 'end', why: 'final' });

    expect(await itemOf(spine.pool, id)).toMatchObject({
      state: 'FAILED',
      endReason: 'UNITS_FAILED',
      errorClass: 'NETWORK_ERROR',
      errorStage: 'upload',
      errorMessage: '1 units failed: b; the first: b is broken',
    });
    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({ trigger: 'upload-failed' });
    expect(await effectsOf(spine.pool, id)).toEqual(['1 prepare', '1 upload a', '1 upload c']);
    expect(await hand.next(id)).toEqual({ do: 'end', why: 'final' });
    expect(await trailFaults(spine.pool, id)).toEqual([]);
  });

  it('that failed moves its item as its row says, like a failed stage', async () => {
    const { PROCESSING } = spreadAll.states;
    const states = { ...spreadAll.states, PROCESSING: { ...PROCESSING, by: 'system' } as const };
    const bySystem: Pipeline = { ...spreadAll, states };
    const hand = byHand(spine.pool, bySystem);
    const id = await spreadOver(hand, ['a']);
    await failUnit(hand, id, 'a');

    expect(await hand.next(id)).toEqual({ do: 'end', why: 'final' });

    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({ trigger: 'upload-failed', actor: 'system' });
  });

  it.each([
    ['that needs any leaves failed units behind', spreadAny, {}],
    ['whose item allows it leaves failed units behind', spreadAsked, { allowPartial: true }],
  ])('%s', async (_, pipeline, item) => {
    const hand = byHand(spine.pool, pipeline);
    const id = await spreadOver(hand, ['a', 'b'], item);
    await failUnit(hand, id, 'a');
    await finishUnit(hand, id, 'b');

    expect(await hand.next(id)).toMatchObject({ do: 'stage', stage: 'finish' });
    await hand.walk(id, 'finish:partial');
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'DONE_IN_PART' });
  });

  it('whose item does not allow it fails as if all were needed', async () => {
    const hand = byHand(spine.pool, spreadAsked);
    const id = await spreadOver(hand, ['a', 'b']);
    await failUnit(hand, id, 'a');
    await finishUnit(hand, id, 'b');

    expect(await hand.next(id)).toEqual({ do: 'end', why: 'final' });
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'FAILED' });
  });

  it('moves the item once, however many runs ask, if it is the only stage of its state', async () => {
    const hand = byHand(spine.pool, spreadLast);
    const id = await hand.make();
    await hand.finish(await hand.claimed(id), 'done', ['a']);
    await hand.finish(await hand.claimed(id, { stage: 'copy', unit: 'a' }));

    const answers = await Promise.all(Array.from({ length: 5 }, () => hand.next(id)));

    expect(answers).toEqual(Array(5).fill(expect.objectContaining({ do: 'stage', state: 'INDEXING', stage: 'split' })));
    expect(await movesOf(spine.pool, id)).toEqual(['>LISTING', 'LISTING>COPYING', 'COPYING>INDEXING']);
  });

  it('names no more than twenty failed units', async () => {
    const hand = byHand(spine.pool, spreadAll);
    const id = await spreadOver(
      hand,
      Array.from({ length: 25 }, (_, n) => `u${n}`),
    );
    await spine.pool.query(`UPDATE tasks SET status = 'failed' WHERE item_id = $1 AND unit <> ''`, [id]);
    await hand.next(id);

    const { errorMessage } = await itemOf(spine.pool, id);
    expect(errorMessage).toContain('25 units failed: u0, u1');
    expect(errorMessage).toContain('u19 and 5 more; the first: no reason recorded');
  });

  it('is no longer handed out when the item is cancelled', async () => {
    const hand = byHand(spine.pool, spreadAll);
    const id = await spreadOver(hand, ['a']);
    await cancelItem(spine.pool, findIn(spreadAll), { itemId: id, actor: ROOT });

    expect(await hand.next(id)).toEqual({ do: 'end', why: 'final' });
  });
});

const sweep = { every: '10s', staleAfter: '5s', stuckAfter: '15s' } as const;
const rescue = { budget: 3, backoff: ['2s'], budgetResetAfter: '24h', oldestRescued: '7d' } as const;
const spent = { move: 'LOST' } as const;

/** A table whose rescue takes the item back over a stage that failed, over a person's decision and over finished work. */
const takenBack = definePipeline({
  name: 'taken-back',
  start: 'TRYING',
  sweep,
  rescue: { ...rescue, exhausted: 'LOST', resumesAt: 'TRYING' },
  cancelled: 'LOST',
  states: {
    TRYING: { does: stage('try', { tries: 1, within: '10s', spent: { move: 'ASKING' } }), then: { done: 'DONE' } },
    ASKING: { awaits: 'owner', then: { go: 'MENDING', stop: 'LOST' } },
    MENDING: { does: stage('mend', { tries: 1, within: '10s', spent }), then: { done: 'ASKING_AGAIN' } },
    ASKING_AGAIN: { awaits: 'owner', then: { go: 'ENDING', stop: 'LOST' } },
    ENDING: { does: stage('end', { tries: 1, within: '10s', spent }), then: { done: 'DONE' } },
    DONE: { ends: 'done' },
    LOST: { ends: 'failed' },
  },
});

describe('an item that a rescue took back', () => {
  it('comes the same way again: done stages are not repeated, a failed stage fails again, no decision is asked for twice', async () => {
    const hand = byHand(spine.pool, takenBack);
    const find = findIn(takenBack);
    const id = await hand.make();
    await hand.commit(await hand.claimed(id), { is: 'spent', error: FAILURE });
    await decideItem(spine.pool, find, { itemId: id, actor: ROOT, id: `go-${id}`, outcome: 'go' });
    await hand.walk(id, 'mend');
    await decideItem(spine.pool, find, { itemId: id, actor: ROOT, id: `go-on-${id}`, outcome: 'go' });
    await hand.claimed(id, { stage: 'end' });
    await rescueItem(spine.pool, find, { itemId: id, actor: ROOT });
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'TRYING', visit: 1, epoch: 2 });

    expect(await hand.next(id)).toMatchObject({ do: 'stage', state: 'MENDING', stage: 'mend' });
    expect(await hand.claim(id, { stage: 'mend' })).toMatchObject({
      is: 'done',
      step: { do: 'stage', stage: 'end' },
    });
    await hand.walk(id, 'end');

    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'DONE' });
    expect((await auditOf(spine.pool, id)).slice(6).map((each) => [each.to, each.trigger])).toEqual([
      ['ASKING', 'try-failed'],
      ['MENDING', 'owner-go'],
      ['ASKING_AGAIN', 'mend-done'],
      ['ENDING', 'owner-go'],
      ['DONE', 'end-done'],
    ]);
    expect(await effectsOf(spine.pool, id)).toEqual(['1 mend', '1 end']);
    expect(await trailFaults(spine.pool, id)).toEqual([]);
  });

  it('goes on at once when its commit leads to a decision that was made already', async () => {
    const hand = byHand(spine.pool, takenBack);
    const find = findIn(takenBack);
    const id = await hand.make();
    await hand.commit(await hand.claimed(id), { is: 'spent', error: FAILURE });
    await decideItem(spine.pool, find, { itemId: id, actor: ROOT, id: `go-${id}`, outcome: 'go' });
    await spine.pool.query(
      `INSERT INTO decisions (id, item_id, visit, state, outcome, actor) VALUES ($1, $2, 1, 'ASKING_AGAIN', 'go', 'root')`,
      [`early-${id}`, id],
    );

    expect(await hand.finish(await hand.claimed(id, { stage: 'mend' }))).toMatchObject({ do: 'stage', stage: 'end' });
  });
});
