import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import type { Pipeline } from '../../../src/core/pipeline.js';
import type { Attempt, Claimed } from '../../../src/db/spine/attempt.js';
import { beatTask } from '../../../src/db/spine/beat.js';
import { claimTask } from '../../../src/db/spine/claim/claim.js';
import type { Committed } from '../../../src/db/spine/commit.js';
import { cancelItem, pauseItem, rescueItem, retryItem } from '../../../src/db/spine/control.js';
import { decideItem } from '../../../src/db/spine/decide-item.js';
import type { Sql } from '../../../src/ports/sql.js';
import type { Save } from '../../../src/ports/stage.js';
import { gate, holdLock } from '../../support/barrier.js';
import { auditOf, effectsOf, taskOf, trailFaults } from '../../support/facts.js';
import { type Act, expectInTurn, pairsOf, raced } from '../../support/race.js';
import { byHand, codeOf, doneWith, FAILURE, findIn, ROOT, useSpine } from '../../support/spine.js';
import { reviewed, spreadAll } from '../../support/tables.js';

const spine = useSpine();

const find = findIn(reviewed, spreadAll);

function wordOf(committed: Committed): string {
  return committed === 'superseded' ? 'refused' : 'committed';
}

/** Claims for a worker that only this item knows, so that no suspect of another test is in the way. */
async function claimAgain(pool: pg.Pool, pipeline: Pipeline, attempt: Attempt): Promise<string> {
  const other = { ...attempt, claimId: randomUUID(), worker: `other-${attempt.itemId}` };
  return (await claimTask(pool, pipeline, other)).is;
}

/** The acts of people on any item. */
function people(from: string) {
  return {
    cancel: (pool, { id }) => codeOf(cancelItem(pool, find, { itemId: id, actor: ROOT })),
    rescue: (pool, { id }) => codeOf(rescueItem(pool, find, { itemId: id, actor: ROOT, seen: 1 })),
    retry: (pool, { id }) => codeOf(retryItem(pool, find, { itemId: id, actor: ROOT, from })),
    pause: (pool, { id }) => codeOf(pauseItem(pool, find, { itemId: id, actor: ROOT, until: 'infinity' })),
  } satisfies Record<string, Act<{ id: string }>>;
}

/** An item of `reviewed` in JUDGING whose only stage is being attempted. */
interface UnderWay {
  id: string;
  mine: Claimed;
}

async function underWay(): Promise<UnderWay> {
  const hand = byHand(spine.pool, reviewed);
  const id = await hand.make();
  return { id, mine: await hand.claimed(id) };
}

function inParts({ itemId, visit, stage, fence }: Claimed): (transaction: Sql) => Promise<void> {
  return async (transaction) => {
    await transaction.query('INSERT INTO canary_effects (item_id, visit, stage, attempt) VALUES ($1, $2, $3, $4)', [
      itemId,
      visit,
      stage,
      fence,
    ]);
  };
}

const UNDER_WAY = {
  commit: async (pool, { mine }) => wordOf(await byHand(pool, reviewed).finish(mine, 'concerns')),
  'commit in parts': async (pool, { mine }) =>
    wordOf(await byHand(pool, reviewed).commit(mine, { is: 'done', outcome: 'concerns', save: inParts(mine) })),
  'commit an error': async (pool, { mine }) =>
    wordOf(await byHand(pool, reviewed).commit(mine, { is: 'error', error: FAILURE, retryInMs: 0 })),
  claim: (pool, { mine }) => claimAgain(pool, reviewed, mine),
  decide: (pool, { id }) =>
    codeOf(decideItem(pool, find, { itemId: id, actor: ROOT, id: `d-${id}`, outcome: 'reject' })),
  beat: async (pool, { mine }) => String(await beatTask(pool, mine, { at: 1 })),
  ...people('JUDGING'),
} satisfies Record<string, Act<UnderWay>>;

describe.concurrent('an item whose stage is under way', () => {
  it.each(pairsOf<UnderWay>(UNDER_WAY))('%s and %s, as if one after the other', async (first, _, acts) => {
    // A claim's quick look finds the task taken, and the other may get its turn before the second look.
    await expectInTurn(spine, underWay, acts, { inAnyOrder: first === 'claim' });
  });
});

describe.concurrent('an item that nobody is at', () => {
  async function waiting() {
    const hand = byHand(spine.pool, reviewed);
    const id = await hand.make();
    return { id, attempt: await hand.attempt(id) };
  }
  const acts: Record<string, Act<Awaited<ReturnType<typeof waiting>>>> = {
    claim: (pool, { attempt }) => claimAgain(pool, reviewed, attempt),
    ...people('JUDGING'),
  };

  it.each(pairsOf(acts))('%s and %s, as if one after the other', async (_, __, pair) => {
    await expectInTurn(spine, waiting, pair);
  });
});

describe.concurrent('an item of which one unit is under way and one is free', () => {
  async function spread() {
    const hand = byHand(spine.pool, spreadAll);
    const id = await hand.make();
    await hand.finish(await hand.claimed(id), 'done', ['mine', 'free']);
    const mine = await hand.claimed(id, { stage: 'upload', unit: 'mine' });
    return { id, mine, free: { ...mine, unit: 'free' } };
  }
  const acts: Record<string, Act<Awaited<ReturnType<typeof spread>>>> = {
    commit: async (pool, { mine }) => wordOf(await byHand(pool, spreadAll).commit(mine, doneWith(mine))),
    claim: (pool, { mine }) => claimAgain(pool, spreadAll, mine),
    'claim of the other': (pool, { free }) => claimAgain(pool, spreadAll, free),
    ...people('PROCESSING'),
  };

  const byWorkers = ['commit', 'claim', 'claim of the other'];

  it.each(pairsOf(acts))('%s and %s, as if one after the other', async (first, second, pair) => {
    // Units share the item: two of them wait for a cancel, not for each other.
    const inAnyOrder = first === 'claim' || (byWorkers.includes(first) && byWorkers.includes(second));
    await expectInTurn(spine, spread, pair, { inAnyOrder });
  });
});

/** The orders that matter most, with their winners by name. */
describe('two acts on an item whose stage is under way', () => {
  type Name = keyof typeof UNDER_WAY;
  const cases: [Name, Name, string[], { state: string; effects: number }][] = [
    ['commit', 'cancel', ['committed', 'no error: REJECTED'], { state: 'REJECTED', effects: 1 }],
    ['cancel', 'commit', ['no error: REJECTED', 'refused'], { state: 'REJECTED', effects: 0 }],
    ['commit', 'decide', ['committed', 'no error: REJECTED'], { state: 'REJECTED', effects: 1 }],
    ['decide', 'commit', ['state_conflict', 'committed'], { state: 'NEEDS_REVIEW', effects: 1 }],
    ['commit', 'retry', ['committed', 'no error: JUDGING'], { state: 'JUDGING', effects: 1 }],
    ['retry', 'commit', ['no error: JUDGING', 'refused'], { state: 'JUDGING', effects: 0 }],
    ['commit', 'rescue', ['committed', 'no error: NEEDS_REVIEW'], { state: 'NEEDS_REVIEW', effects: 1 }],
    ['rescue', 'commit', ['no error: JUDGING', 'refused'], { state: 'JUDGING', effects: 0 }],
    ['commit', 'claim', ['committed', 'done'], { state: 'NEEDS_REVIEW', effects: 1 }],
    ['commit', 'commit in parts', ['committed', 'refused'], { state: 'NEEDS_REVIEW', effects: 1 }],
    ['cancel', 'cancel', ['no error: REJECTED', 'state_conflict'], { state: 'REJECTED', effects: 0 }],
    ['rescue', 'rescue', ['no error: JUDGING', 'state_conflict'], { state: 'JUDGING', effects: 0 }],
    ['cancel', 'rescue', ['no error: REJECTED', 'state_conflict'], { state: 'REJECTED', effects: 0 }],
    ['rescue', 'cancel', ['no error: JUDGING', 'no error: REJECTED'], { state: 'REJECTED', effects: 0 }],
  ];

  it.each(cases)('are answered in turn: %s, then %s: %j', async (first, second, answers, { state, effects }) => {
    const race = await raced<UnderWay>(spine, underWay, [UNDER_WAY[first], UNDER_WAY[second]]);

    expect(race.answers).toEqual(answers);
    expect(race.left.item.state).toBe(state);
    expect(race.left.effects).toHaveLength(effects);
  });
});

describe('a second claim that has counted the crash before the commit gets to the item', () => {
  it('is the winner, and the commit is refused', async () => {
    const item = await underWay();
    // The claim has both locks by the time it writes the attempt that it found.
    const barrier = await holdLock(spine, 'LOCK TABLE attempts IN SHARE MODE');
    const claim = await barrier.start((pool) => UNDER_WAY.claim(pool, item));
    const commit = await barrier.start((pool) => UNDER_WAY.commit(pool, item));
    await barrier.release();

    expect([await claim.result, await commit.result]).toEqual(['run', 'refused']);
    expect(await effectsOf(spine.pool, item.id)).toEqual([]);
    expect(await taskOf(spine.pool, item.id, 'judge')).toMatchObject({ status: 'running', crashes: 1 });
  });
});

describe('a commit in the middle of its save', () => {
  const others = ['cancel', 'rescue', 'retry', 'claim', 'decide', 'pause'] as const;

  it.each(others)('is finished before a %s is answered', async (name) => {
    const item = await underWay();
    const saving = gate();
    const goOn = gate();
    const save: Save = async (transaction) => {
      await inParts(item.mine)(transaction);
      saving.open();
      await goOn.opened;
    };
    const commit = byHand(spine.pool, reviewed).commit(item.mine, { is: 'done', outcome: 'concerns', save });
    await saving.opened;
    const barrier = await holdLock(spine, 'SELECT 1');
    const other = await barrier.start((pool) => UNDER_WAY[name](pool, item));
    goOn.open();

    expect(wordOf(await commit)).toBe('committed');
    await other.result;
    await barrier.release();
    expect(await effectsOf(spine.pool, item.id)).toHaveLength(1);
    expect(await trailFaults(spine.pool, item.id)).toEqual([]);
    expect((await auditOf(spine.pool, item.id))[1]).toMatchObject({ to: 'NEEDS_REVIEW', version: 2 });
  });
});
