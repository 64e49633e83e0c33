import { describe, expect, it } from 'vitest';
import { beatTask, keepCheckpoint } from '../../../src/db/spine/beat.js';
import { cancelItem, pauseItem, rescueItem, resumeItem, retryItem } from '../../../src/db/spine/control.js';
import { decideItem } from '../../../src/db/spine/decide-item.js';
import type { Sql } from '../../../src/ports/sql.js';
import { holdItem } from '../../support/barrier.js';
import {
  attemptsOf,
  auditOf,
  effectsOf,
  itemOf,
  lastMetadataOf,
  movesOf,
  taskOf,
  tasksOf,
  trailFaults,
} from '../../support/facts.js';
import { ADA, byHand, codeOf, FAILURE, findIn, ROOT, useSpine } from '../../support/spine.js';
import { admitting, batched, reopened, resting, reviewed, several, spreadAll, straight } from '../../support/tables.js';

const spine = useSpine();

const find = findIn(straight, several, spreadAll, reviewed, reopened, resting, batched, admitting);
const nowhere = '00000000-0000-7000-8000-000000000000';

describe('a cancel', () => {
  it('ends the item at once, wants no run any more and takes its running tasks', async () => {
    const hand = byHand(spine.pool, spreadAll);
    const id = await hand.make();
    await hand.finish(await hand.claimed(id), 'done', ['a', 'b', 'c']);
    const unit = await hand.claimed(id, { stage: 'upload', unit: 'a' });
    await hand.finish(await hand.claimed(id, { stage: 'upload', unit: 'b' }));

    const changed = await cancelItem(spine.pool, find, { itemId: id, actor: ADA, reason: 'not needed' });

    expect(changed).toMatchObject({ itemId: id, pipeline: 'spread-all', state: 'FAILED', version: 2, epoch: 1 });
    expect(await itemOf(spine.pool, id)).toMatchObject({
      state: 'FAILED',
      endReason: 'CANCELLED',
      endedAt: expect.any(Date) as Date,
      startAfter: null,
      wakeAfter: expect.any(Date) as Date,
    });
    expect((await tasksOf(spine.pool, id)).map((each) => `${each.unit} ${each.status}`)).toEqual([
      ' done',
      'a waiting',
      'b done',
      'c waiting',
    ]);
    expect(await attemptsOf(spine.pool, id)).toEqual(['prepare done', 'upload b done', 'upload a superseded']);
    expect(await beatTask(spine.pool, unit, null)).toBe(false);
    expect(await keepCheckpoint(spine.pool, unit, { at: 1 })).toBe(false);
    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({ trigger: 'cancelled', actor: 'ada' });
  });

  it('conflicts with an ended item and names its state', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await hand.walk(id, 'read:empty');

    await expect(cancelItem(spine.pool, find, { itemId: id, actor: ADA })).rejects.toMatchObject({
      code: 'state_conflict',
      kind: 'conflict',
      facts: { state: 'DONE', version: 2 },
    });
    expect(await movesOf(spine.pool, id)).toEqual(['>READING', 'READING>DONE']);
  });

  it('is answered not found for an unknown item', async () => {
    expect(await codeOf(cancelItem(spine.pool, find, { itemId: nowhere, actor: ADA }))).toBe('not_found');
  });

  it('asks the caller to come again while another session holds the item for too long', async () => {
    const id = await byHand(spine.pool, straight).make();
    const barrier = await holdItem(spine, id);

    expect(await codeOf(cancelItem(spine.limited, find, { itemId: id, actor: ADA }))).toBe('still_alive');
    await barrier.release();
    expect(await codeOf(cancelItem(spine.limited, find, { itemId: id, actor: ADA }))).toBe('no error: CANCELLED');
  });
});

describe('a decision', () => {
  async function awaiting(): Promise<string> {
    const hand = byHand(spine.pool, reviewed);
    const id = await hand.make();
    await hand.walk(id, 'judge:concerns');
    return id;
  }

  async function decisionsOn(itemId: string): Promise<string[]> {
    const { rows } = await spine.pool.query<{ outcome: string }>('SELECT outcome FROM decisions WHERE item_id = $1', [
      itemId,
    ]);
    return rows.map(({ outcome }) => outcome);
  }

  it('moves the item and wants its run woken', async () => {
    const id = await awaiting();

    const changed = await decideItem(spine.pool, find, {
      itemId: id,
      actor: ROOT,
      id: `a-${id}`,
      outcome: 'escalate',
      reason: 'unsure',
    });

    expect(changed).toMatchObject({ state: 'SECOND_REVIEW', version: 3 });
    expect(await itemOf(spine.pool, id)).toMatchObject({ wakeAfter: expect.any(Date) as Date, epoch: 1 });
    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({ trigger: 'reviewer-escalate', actor: 'root' });
  });

  it('commits its save together with its move, once', async () => {
    const id = await awaiting();
    const saved: string[] = [];
    const request = {
      itemId: id,
      actor: ROOT,
      id: `saves-${id}`,
      outcome: 'escalate',
      save: (transaction: Sql) => {
        saved.push('once');
        return transaction.query('SELECT 1').then(() => ({ ticket: 7 }));
      },
    };

    await decideItem(spine.pool, find, request);
    await decideItem(spine.pool, find, request);

    expect(saved).toEqual(['once']);
    expect(await lastMetadataOf(spine.pool, id)).toEqual({ ticket: 7 });
  });

  it('is not made where its save fails', async () => {
    const id = await awaiting();
    const save = () => Promise.reject(new Error('no room'));
    const request = { itemId: id, actor: ROOT, id: `fails-${id}`, outcome: 'escalate', save };

    await expect(decideItem(spine.pool, find, request)).rejects.toThrow('no room');
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'NEEDS_REVIEW' });
    expect(await decisionsOn(id)).toEqual([]);
  });

  it('after another one in the same transaction is made with it, with an entry for each', async () => {
    const id = await awaiting();
    const [first, second] = [
      { itemId: id, actor: ROOT, id: `first-${id}`, outcome: 'escalate', seen: 'NEEDS_REVIEW' },
      { itemId: id, actor: ROOT, id: `second-${id}`, outcome: 'approve', seen: 'SECOND_REVIEW' },
    ];

    for (let n = 0; n < 2; n += 1) {
      expect(await decideItem(spine.pool, find, first, second)).toMatchObject({ state: 'PUBLISHING', version: 4 });
    }

    expect(await movesOf(spine.pool, id)).toEqual([
      '>JUDGING',
      'JUDGING>NEEDS_REVIEW',
      'NEEDS_REVIEW>SECOND_REVIEW',
      'SECOND_REVIEW>PUBLISHING',
    ]);
    expect(await trailFaults(spine.pool, id)).toEqual([]);
  });

  it('takes back the one before it in the same transaction where it cannot be made', async () => {
    const id = await awaiting();
    const first = { itemId: id, actor: ROOT, id: `made-${id}`, outcome: 'escalate' };
    const second = {
      ...first,
      id: `fails-${id}`,
      outcome: 'approve',
      save: () => Promise.reject(new Error('no room')),
    };

    await expect(decideItem(spine.pool, find, first, second)).rejects.toThrow('no room');

    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'NEEDS_REVIEW', version: 2 });
    expect(await decisionsOn(id)).toEqual([]);
  });

  it('sent twice is one, also when the item has gone on since', async () => {
    const id = await awaiting();
    const request = { itemId: id, actor: ROOT, id: `twice-${id}`, outcome: 'escalate' };
    await decideItem(spine.pool, find, request);
    await decideItem(spine.pool, find, { ...request, id: `other-${id}`, outcome: 'approve' });

    expect(await decideItem(spine.pool, find, request)).toMatchObject({ state: 'PUBLISHING', version: 4 });
    expect(await movesOf(spine.pool, id)).toHaveLength(4);
  });

  it('sent twice at once is one', async () => {
    const id = await awaiting();
    const request = { itemId: id, actor: ROOT, id: `once-${id}`, outcome: 'escalate' };
    const barrier = await holdItem(spine, id);
    const calls = [];
    for (let n = 0; n < 2; n += 1) calls.push(await barrier.start((pool) => decideItem(pool, find, request)));
    await barrier.release();

    const answers = await Promise.all(calls.map(({ result }) => result));

    expect(answers.map(({ state, version }) => [state, version])).toEqual([
      ['SECOND_REVIEW', 3],
      ['SECOND_REVIEW', 3],
    ]);
    expect(await trailFaults(spine.pool, id)).toEqual([]);
  });

  it('under a used id but for another outcome, or another item, is refused', async () => {
    const [id, other] = [await awaiting(), await awaiting()];
    const request = { itemId: id, actor: ROOT, id: `used-${id}`, outcome: 'escalate' };
    await decideItem(spine.pool, find, request);

    expect(await codeOf(decideItem(spine.pool, find, { ...request, outcome: 'reject' }))).toBe('idempotency_conflict');
    expect(await codeOf(decideItem(spine.pool, find, { ...request, itemId: other }))).toBe('idempotency_conflict');
    expect(await itemOf(spine.pool, other)).toMatchObject({ state: 'NEEDS_REVIEW' });
  });

  it('is taken from one of two people who decide at once; the other is told', async () => {
    const id = await awaiting();
    const barrier = await holdItem(spine, id);
    const first = await barrier.start((pool) =>
      codeOf(decideItem(pool, find, { itemId: id, actor: ROOT, id: `r-${id}`, outcome: 'reject' })),
    );
    const second = await barrier.start((pool) =>
      codeOf(decideItem(pool, find, { itemId: id, actor: ADA, id: `e-${id}`, outcome: 'escalate' })),
    );
    await barrier.release();

    expect([await first.result, await second.result]).toEqual(['no error: REJECTED', 'state_conflict']);
    expect(await itemOf(spine.pool, id)).toMatchObject({ endReason: 'REJECT' });
  });

  it('made on a state that the item has left since is refused, though the next one knows the word too', async () => {
    const id = await awaiting();
    const barrier = await holdItem(spine, id);
    const escalated = await barrier.start((pool) =>
      decideItem(pool, find, { itemId: id, actor: ROOT, id: `up-${id}`, outcome: 'escalate', seen: 'NEEDS_REVIEW' }),
    );
    const late = { itemId: id, actor: ADA, id: `late-${id}`, outcome: 'reject', seen: 'NEEDS_REVIEW' };
    const rejected = await barrier.start((pool) => decideItem(pool, find, late));
    await barrier.release();

    expect(await escalated.result).toMatchObject({ state: 'SECOND_REVIEW', version: 3 });
    await expect(rejected.result).rejects.toMatchObject({
      code: 'state_conflict',
      facts: { state: 'SECOND_REVIEW', version: 3 },
    });
    expect(await decisionsOn(id)).toEqual(['escalate']);
    expect(await codeOf(decideItem(spine.pool, find, { ...late, seen: 'SECOND_REVIEW' }))).toBe('no error: REJECTED');
    expect(await trailFaults(spine.pool, id)).toEqual([]);
  });

  it('sent twice is one though the item was seen elsewhere the second time', async () => {
    const id = await awaiting();
    const request = { itemId: id, actor: ROOT, id: `again-${id}`, outcome: 'escalate' };
    await decideItem(spine.pool, find, { ...request, seen: 'NEEDS_REVIEW' });

    for (const seen of ['NEEDS_REVIEW', 'SECOND_REVIEW']) {
      expect(await codeOf(decideItem(spine.pool, find, { ...request, seen }))).toBe('no error: SECOND_REVIEW');
    }
    expect(await decisionsOn(id)).toEqual(['escalate']);
  });

  it('is refused with the known outcomes if the state does not know it', async () => {
    const id = await awaiting();
    const unknown = decideItem(spine.pool, find, { itemId: id, actor: ROOT, id: `u-${id}`, outcome: 'toString' });

    await expect(unknown).rejects.toMatchObject({
      code: 'invalid_input',
      errors: [{ path: 'outcome', message: 'use one of escalate, reject' }],
    });
  });

  it('is a conflict and is not kept where the state awaits none', async () => {
    const id = await byHand(spine.pool, reviewed).make();
    const request = { itemId: id, actor: ROOT, id: `early-${id}`, outcome: 'reject' };

    expect(await codeOf(decideItem(spine.pool, find, request))).toBe('state_conflict');
    expect(await decisionsOn(id)).toEqual([]);
  });
});

describe('a rescue', () => {
  it('begins a new run in the same visit: finished tasks stay, the others get their tries back', async () => {
    const hand = byHand(spine.pool, several);
    const id = await hand.make();
    await hand.walk(id, 'extract');
    await hand.commit(await hand.claimed(id, { stage: 'enrich' }), { is: 'error', error: FAILURE, retryInMs: 60_000 });
    await spine.pool.query(
      `UPDATE items SET run_ended_at = now(), parked_at = now(), parked_why = 'old' WHERE id = $1`,
      [id],
    );

    const changed = await rescueItem(spine.pool, find, { itemId: id, actor: ROOT, seen: 1 });

    expect(changed).toMatchObject({ state: 'WORKING', visit: 1, epoch: 2, version: 2 });
    expect(await itemOf(spine.pool, id)).toMatchObject({
      started: false,
      startAfter: expect.any(Date) as Date,
      runEndedAt: null,
      rescues: 1,
      parkedAt: null,
      wakeAfter: null,
    });
    expect(await taskOf(spine.pool, id, 'extract')).toMatchObject({ status: 'done', rescues: 0 });
    expect(await taskOf(spine.pool, id, 'enrich')).toMatchObject({ status: 'waiting', errors: 0, rescues: 1 });
    expect(await hand.next(id)).toMatchObject({ do: 'stage', stage: 'enrich' });
    await hand.walk(id, 'enrich', 'judge', 'remember', 'summarise');
    expect(await effectsOf(spine.pool, id)).toHaveLength(5);
    expect(await trailFaults(spine.pool, id)).toEqual([]);
  });

  it('is made once when two rescuers saw the same run', async () => {
    const id = await byHand(spine.pool, straight).make();
    const barrier = await holdItem(spine, id);
    const calls = [];
    for (let n = 0; n < 2; n += 1) {
      calls.push(await barrier.start((pool) => codeOf(rescueItem(pool, find, { itemId: id, actor: ROOT, seen: 1 }))));
    }
    await barrier.release();

    expect(await Promise.all(calls.map(({ result }) => result))).toEqual(['no error: READING', 'state_conflict']);
    expect(await itemOf(spine.pool, id)).toMatchObject({ epoch: 2, rescues: 1 });
  });

  it('waits longer before each next one, as the table says', async () => {
    const id = await byHand(spine.pool, straight).make();
    const waits = [];
    for (let n = 0; n < 4; n += 1) {
      await rescueItem(spine.pool, find, { itemId: id, actor: ROOT });
      const { rows } = await spine.pool.query<{ s: number }>(
        'SELECT extract(epoch FROM next_rescue_after - last_rescue_at)::int AS s FROM items WHERE id = $1',
        [id],
      );
      waits.push(rows[0]?.s);
    }
    expect(waits).toEqual([2, 5, 10, 10]);
  });

  it('takes the item back where the table says so, and leaves it where it waits for somebody', async () => {
    const hand = byHand(spine.pool, resting);
    const id = await hand.make();
    expect(await codeOf(rescueItem(spine.pool, find, { itemId: id, actor: ROOT }))).toBe('no error: registered');
    expect(await itemOf(spine.pool, id)).toMatchObject({ startAfter: null, epoch: 2 });
    await spine.pool.query(`UPDATE items SET state = 'queued' WHERE id = $1`, [id]);
    await hand.walk(id, 'convert');

    expect(await codeOf(rescueItem(spine.pool, find, { itemId: id, actor: ROOT }))).toBe('no error: queued');
    expect(await hand.claim(id, { stage: 'convert', state: 'converting' })).toMatchObject({
      is: 'done',
      step: { stage: 'store' },
    });
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'storing' });
  });

  it('of an ended item is a conflict', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await hand.walk(id, 'read:empty');
    expect(await codeOf(rescueItem(spine.pool, find, { itemId: id, actor: ROOT }))).toBe('state_conflict');
  });
});

describe('a retry from a chosen state', () => {
  it('begins a new visit, to which nothing is carried over', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await hand.walk(id, 'read', 'check:good');
    const old = await hand.claimed(id);
    await rescueItem(spine.pool, find, { itemId: id, actor: ROOT });
    await hand.claimed(id);

    const changed = await retryItem(spine.pool, find, { itemId: id, actor: ROOT, from: 'READING' });

    expect(changed).toMatchObject({ state: 'READING', visit: 2, epoch: 3 });
    expect(await itemOf(spine.pool, id)).toMatchObject({
      rescues: 0,
      nextRescueAfter: null,
      started: false,
      endedAt: null,
    });
    expect((await tasksOf(spine.pool, id)).filter((each) => each.status === 'running')).toEqual([]);
    expect(await hand.finish(old)).toBe('superseded');
    await hand.walk(id, 'read', 'check:good', 'write');
    expect(await effectsOf(spine.pool, id)).toEqual(['1 read', '1 check', '2 read', '2 check', '2 write']);
    expect(await trailFaults(spine.pool, id)).toEqual([]);
  });

  it.each(['NOWHERE', 'DONE', 'toString'])('refuses the state %s and names the possible states', async (from) => {
    const id = await byHand(spine.pool, straight).make();
    await expect(retryItem(spine.pool, find, { itemId: id, actor: ROOT, from })).rejects.toMatchObject({
      code: 'invalid_input',
      errors: [{ path: 'from', message: 'use one of READING, CHECKING, WRITING' }],
    });
  });

  it('without one, of an item that is live, is a conflict', async () => {
    const id = await byHand(spine.pool, straight).make();
    expect(await codeOf(retryItem(spine.pool, find, { itemId: id, actor: ROOT }))).toBe('state_conflict');
  });
});

describe('reopening', () => {
  it('takes a final item to where its row says, as a new visit', async () => {
    const hand = byHand(spine.pool, reopened);
    const id = await hand.make();
    await hand.commit(await hand.claimed(id), { is: 'spent', error: FAILURE });
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'FAILED', endReason: 'NETWORK_ERROR' });

    expect(await retryItem(spine.pool, find, { itemId: id, actor: ADA })).toMatchObject({
      state: 'WORKING',
      visit: 2,
      epoch: 2,
    });

    expect(await itemOf(spine.pool, id)).toMatchObject({
      endedAt: null,
      endReason: null,
      errorClass: null,
      startAfter: expect.any(Date) as Date,
      started: false,
    });
    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({
      from: 'FAILED',
      to: 'WORKING',
      trigger: 'retry',
      actor: 'ada',
    });
    await hand.walk(id, 'work', 'finish');
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'DONE' });
  });

  it('or to another state that was asked for', async () => {
    const hand = byHand(spine.pool, reopened);
    const id = await hand.make();
    await hand.walk(id, 'work', 'finish');

    expect(await codeOf(retryItem(spine.pool, find, { itemId: id, actor: ADA, from: 'FINISHING' }))).toBe(
      'no error: FINISHING',
    );
  });

  it('into a state that no run drives wants no run', async () => {
    const hand = byHand(spine.pool, batched);
    const id = await hand.make({ dedupeKey: 'reopened' });
    await spine.pool.query(`UPDATE items SET state = 'processed', ended_at = now() WHERE id = $1`, [id]);

    expect(await codeOf(retryItem(spine.pool, find, { itemId: id, actor: ADA }))).toBe('no error: active');
    expect(await itemOf(spine.pool, id)).toMatchObject({ startAfter: null, started: false });
  });

  it('is refused where the row does not name it', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await hand.walk(id, 'read:empty');

    expect(await codeOf(retryItem(spine.pool, find, { itemId: id, actor: ADA }))).toBe('state_conflict');
    expect(await codeOf(retryItem(spine.pool, find, { itemId: id, actor: ADA, from: 'READING' }))).toBe(
      'state_conflict',
    );
  });

  it('is refused while a newer item with the same key is live', async () => {
    const hand = byHand(spine.pool, reopened);
    const id = await hand.make({ dedupeKey: 'same' });
    await hand.walk(id, 'work', 'finish');
    await hand.make({ dedupeKey: 'same' });

    expect(await codeOf(retryItem(spine.pool, find, { itemId: id, actor: ADA }))).toBe('state_conflict');
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'DONE', visit: 1 });
  });
});

describe('a pause', () => {
  it('holds the item where it is until it is resumed, both in the trail', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await pauseItem(spine.pool, find, { itemId: id, actor: ROOT, until: 'infinity', reason: 'maintenance' });
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'READING', pauseReason: 'maintenance', version: 2 });
    expect(await hand.claim(id)).toMatchObject({ is: 'hold', reason: 'paused' });

    await resumeItem(spine.pool, find, { itemId: id, actor: ROOT });

    expect(await itemOf(spine.pool, id)).toMatchObject({
      pausedUntil: null,
      pauseReason: null,
      wakeAfter: expect.any(Date) as Date,
    });
    expect(await hand.claim(id)).toMatchObject({ is: 'run' });
    expect((await auditOf(spine.pool, id)).map((each) => each.trigger)).toEqual(['submitted', 'paused', 'resumed']);
  });

  it('lets the attempt that is under way end', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const attempt = await hand.claimed(id);
    await pauseItem(spine.pool, find, { itemId: id, actor: ROOT, until: 'infinity' });

    expect(await hand.finish(attempt)).toHaveProperty('do');
    expect(await hand.claim(id)).toMatchObject({ is: 'hold' });
  });

  it('is over with the visit, and its reason with it', async () => {
    const id = await byHand(spine.pool, straight).make();
    await pauseItem(spine.pool, find, { itemId: id, actor: ROOT, until: 'infinity', reason: 'maintenance' });
    await retryItem(spine.pool, find, { itemId: id, actor: ROOT, from: 'READING' });
    expect(await itemOf(spine.pool, id)).toMatchObject({ pausedUntil: null, pauseReason: null });

    await pauseItem(spine.pool, find, { itemId: id, actor: ROOT, until: 'infinity', reason: 'again' });
    await cancelItem(spine.pool, find, { itemId: id, actor: ROOT });
    expect(await itemOf(spine.pool, id)).toMatchObject({ pausedUntil: null, pauseReason: null });
  });

  it.each([pauseItem, resumeItem])('of an ended item is a conflict', async (act) => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await hand.walk(id, 'read:empty');
    expect(await codeOf(act(spine.pool, find, { itemId: id, actor: ROOT, until: 'infinity' }))).toBe('state_conflict');
  });
});
