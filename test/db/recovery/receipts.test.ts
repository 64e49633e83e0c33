import { describe, expect, it } from 'vitest';
import { pauseItem, rescueItem, resumeItem } from '../../../src/db/spine/control.js';
import { exhaustItem, parkItem } from '../../../src/db/recovery/give-up.js';
import { SYSTEM } from '../../../src/db/spine/transition.js';
import { registerWorker } from '../../../src/db/recovery/workers.js';
import { attemptsOf, auditOf, itemOf } from '../../support/facts.js';
import { eventsOf, receiptsOf } from '../../support/receipts.js';
import { byHand, codeOf, FAILURE, findIn, ROOT, useSpine } from '../../support/spine.js';
import { reviewed, several, spreadAll, straight } from '../../support/tables.js';

const spine = useSpine();

const find = findIn(straight, several, spreadAll, reviewed);
const cause = { reason: 'workflow_closed', sentence: 'Its run ended without a word, before the item did.' };

async function silentFor(id: string, minutes: number): Promise<void> {
  const since = `now() - ${String(minutes)} * interval '1 minute'`;
  await spine.pool.query(`UPDATE items SET beat_at = ${since} WHERE id = $1`, [id]);
  await spine.pool.query(`UPDATE tasks SET beat_at = ${since} WHERE item_id = $1`, [id]);
}

describe('the receipt of a rescue', () => {
  it('says when the item stopped, was seen and acted on, which stages run again, and why', async () => {
    const hand = byHand(spine.pool, several);
    const id = await hand.make();
    await hand.walk(id, 'extract');
    await hand.commit(await hand.claimed(id, { stage: 'enrich' }), { is: 'error', error: FAILURE, retryInMs: 0 });
    await silentFor(id, 10);

    const seenAt = new Date(Date.now() - 60_000);
    await rescueItem(spine.pool, find, { itemId: id, actor: SYSTEM, cause: { ...cause, seenAt } });

    const [receipt, ...others] = await receiptsOf(spine.pool, id);
    expect(others).toEqual([]);
    expect(receipt).toMatchObject({
      ...{ pipeline: 'several', state: 'WORKING', visit: 1, epoch: 2, stage: null, unit: '', ...cause, seenAt },
      ...{ stagesAgain: ['enrich'], actor: 'system', actorType: 'system', result: 'waiting', movingAt: null },
      detectMs: expect.any(Number) as number,
    });
    expect(receipt?.silentMs).toBeGreaterThanOrEqual(10 * 60_000);
    expect(await metadataOf(id)).toEqual({ stopped: 'workflow_closed', sentence: cause.sentence });
  });

  it.each(['at once', 'after a pause'] as const)(
    'is complete with the first claim that is granted %s',
    async (when) => {
      const hand = byHand(spine.pool, straight);
      const id = await hand.make();
      await hand.claimed(id);
      await rescueItem(spine.pool, find, { itemId: id, actor: ROOT, cause });
      await hand.next(id);
      if (when === 'after a pause') {
        await pauseItem(spine.pool, find, { itemId: id, actor: ROOT, until: 'infinity' });
        expect(await hand.claim(id)).toMatchObject({ is: 'hold' });
        await resumeItem(spine.pool, find, { itemId: id, actor: ROOT });
      }
      expect(await receiptsOf(spine.pool, id)).toMatchObject([{ result: 'waiting', movingAt: null }]);

      await hand.claimed(id);

      const [receipt] = await receiptsOf(spine.pool, id);
      expect(receipt).toMatchObject({ result: 'moving', movingAt: expect.any(Date) as Date, stagesAgain: ['read'] });
      await hand.next(id);
      await hand.next(id);
      expect(await receiptsOf(spine.pool, id)).toEqual([receipt]);
    },
  );

  it('is not completed by the earlier run', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const zombie = await hand.attempt(id);
    await rescueItem(spine.pool, find, { itemId: id, actor: ROOT, cause });
    await rescueItem(spine.pool, find, { itemId: id, actor: ROOT, cause });

    expect(await hand.claim(id, { ...zombie, scheduledAt: new Date() })).toEqual({ is: 'superseded' });
    expect(await hand.claim(id, { epoch: 2 })).toEqual({ is: 'superseded' });
    await hand.claimed(id);
    expect((await receiptsOf(spine.pool, id)).map(({ epoch, result }) => [epoch, result])).toEqual([
      [2, 'waiting'],
      [3, 'moving'],
    ]);
  });

  it('takes the beat of a unit as the last sign of life', async () => {
    const hand = byHand(spine.pool, spreadAll);
    const id = await hand.make();
    await hand.finish(await hand.claimed(id), 'done', ['a', 'b']);
    await hand.claimed(id, { stage: 'upload', unit: 'a' });
    await spine.pool.query(`UPDATE items SET beat_at = now() - interval '1 hour' WHERE id = $1`, [id]);

    await rescueItem(spine.pool, find, { itemId: id, actor: ROOT, cause });

    const [receipt] = await receiptsOf(spine.pool, id);
    expect(receipt?.silentMs).toBeLessThan(30 * 60_000);
    expect(receipt?.stagesAgain).toEqual(['upload']);
  });

  it('gives the reason that the rows show when a person asked for the rescue', async () => {
    const id = await byHand(spine.pool, straight).make();
    await spine.pool.query('UPDATE items SET run_ended_at = now(), started = true WHERE id = $1', [id]);
    await rescueItem(spine.pool, find, { itemId: id, actor: ROOT, reason: 'please' });

    expect(await receiptsOf(spine.pool, id)).toMatchObject([
      { reason: 'workflow_closed', sentence: 'Its run ended 0.0 s ago, before the item did.', actor: 'root' },
    ]);
    expect(await metadataOf(id)).toMatchObject({ reason: 'please', stopped: 'workflow_closed' });
  });
});

describe('the receipt of a recovery by the next claim', () => {
  it('says that the worker fell silent, and is complete', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await hand.claimed(id, { worker: 'frozen' });
    await silentFor(id, 5);
    await hand.claimed(id, { worker: 'healthy' });

    const [receipt] = await receiptsOf(spine.pool, id);
    expect(receipt).toMatchObject({
      ...{ reason: 'silent_worker', state: 'READING', epoch: 1, stage: 'read', result: 'moving', actor: 'system' },
      ...{ stagesAgain: ['read'], movingAt: expect.any(Date) as Date, detectMs: receipt?.silentMs },
      sentence: 'worker frozen died or fell silent while it ran read',
    });
    expect(receipt?.silentMs).toBeGreaterThanOrEqual(5 * 60_000);
  });

  it('says when the watcher saw the worker die', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const worker = { id: `dead-${id}`, name: 'dead', host: 'here', pid: 1, build: '1', pipelines: ['straight'] };
    await registerWorker(spine.pool, worker);
    await hand.claimed(id, { worker: worker.id });
    await spine.pool.query(`UPDATE workers SET died_at = now() - interval '2 seconds' WHERE id = $1`, [worker.id]);
    await silentFor(id, 1);
    await hand.claimed(id, { worker: 'healthy' });

    const [receipt] = await receiptsOf(spine.pool, id);
    expect(receipt).toMatchObject({ reason: 'worker_died', result: 'moving' });
    expect(receipt?.detectMs).toBeLessThan(receipt?.silentMs ?? 0);
  });

  it('is not seen after it is acted on, though the watcher saw the death after the claim began', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const worker = { id: `dying-${id}`, name: 'dying', host: 'here', pid: 1, build: '1', pipelines: ['straight'] };
    await registerWorker(spine.pool, worker);
    await hand.claimed(id, { worker: worker.id });
    await silentFor(id, 1);
    // This is later than the claim's transaction began, as if the claim had waited for a lock.
    await spine.pool.query(`UPDATE workers SET seen_gone_at = now() + interval '1 minute' WHERE id = $1`, [worker.id]);
    await hand.claimed(id, { worker: 'healthy' });

    const [receipt] = await receiptsOf(spine.pool, id);
    expect(receipt).toMatchObject({ reason: 'worker_died', result: 'moving' });
    expect(receipt?.detectMs).toBeLessThanOrEqual(receipt?.silentMs ?? 0);
  });

  it('waits with a suspect until a worker has a place for it', async () => {
    const hand = byHand(spine.pool, straight);
    const other = await hand.make();
    for (const worker of ['x', 'y', 'crowded']) await hand.claimed(other, { worker });
    const id = await hand.make();
    for (const worker of ['p', 'q']) await hand.claimed(id, { worker });
    expect(await hand.claim(id, { worker: 'crowded', places: 1 })).toMatchObject({
      is: 'hold',
      reason: 'suspect_wait',
    });
    expect((await receiptsOf(spine.pool, id)).map((each) => each.result)).toEqual(['moving', 'waiting']);

    await hand.claimed(id, { worker: 'empty' });
    expect((await receiptsOf(spine.pool, id)).map((each) => each.result)).toEqual(['moving', 'moving']);
  });

  it('says that the task is poison after its last crash, and the owner is told', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await hand.poison(id);

    const receipts = await receiptsOf(spine.pool, id);
    expect(receipts.map((each) => each.result)).toEqual(['moving', 'moving', 'moving', 'moving', 'poison']);
    expect(receipts.at(-1)).toMatchObject({ movingAt: null });
    expect(await eventsOf(spine.pool, id)).toMatchObject([
      { kind: 'item_exhausted', owner: 'ada', payload: { reason: 'POISON' } },
    ]);
  });
});

describe('an item that is given up', () => {
  const asSeen = { actor: SYSTEM, cause, seen: 1, seenVersion: 1 };

  it('is in the exhausted state with its reason and its last error; a receipt is there, and its owner is told', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await hand.commit(await hand.claimed(id), { is: 'error', error: FAILURE, retryInMs: 0 });

    await exhaustItem(spine.pool, find, { itemId: id, ...asSeen });

    expect(await itemOf(spine.pool, id)).toMatchObject({
      ...{ state: 'FAILED', endReason: 'STUCK_EXHAUSTED', errorClass: 'NETWORK_ERROR', errorMessage: FAILURE.message },
      ...{ endedAt: expect.any(Date) as Date, startAfter: null, epoch: 1 },
    });
    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({ trigger: 'stuck-exhausted', actor: 'system' });
    expect(await receiptsOf(spine.pool, id)).toMatchObject([
      { result: 'exhausted', movingAt: null, stagesAgain: [], epoch: 1, state: 'READING', reason: 'workflow_closed' },
    ]);
    expect(await eventsOf(spine.pool, id)).toMatchObject([
      { id: `item_exhausted:${id}:1`, kind: 'item_exhausted', owner: 'ada', pipeline: 'straight' },
    ]);
  });

  it('after an error of a model goes to a person, with a whole budget', async () => {
    const hand = byHand(spine.pool, reviewed);
    const id = await hand.make();
    const error = { ...FAILURE, class: 'LLM_ERROR', stage: 'judge' } as const;
    await hand.commit(await hand.claimed(id), { is: 'error', error, retryInMs: 0 });
    for (let n = 0; n < 3; n += 1) await rescueItem(spine.pool, find, { itemId: id, actor: SYSTEM, cause });
    expect(await itemOf(spine.pool, id)).toMatchObject({ rescues: 3, errorClass: 'LLM_ERROR', version: 4 });

    await exhaustItem(spine.pool, find, { itemId: id, ...asSeen, seen: 4, seenVersion: 4 });

    expect(await itemOf(spine.pool, id)).toMatchObject({
      ...{ state: 'NEEDS_REVIEW', endedAt: null, epoch: 5, started: false, errorClass: 'LLM_ERROR' },
      ...{ rescues: 0, nextRescueAfter: null },
    });
    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({ trigger: 'judge-unavailable', actor: 'system' });
  });

  it.each([
    ['rescued', { seen: 2 }],
    ['moved or paused', { seenVersion: 2 }],
  ])('after it was %s by somebody else is left alone', async (_, other) => {
    const id = await byHand(spine.pool, straight).make();
    const request = { itemId: id, ...asSeen, ...other };
    expect(await codeOf(exhaustItem(spine.pool, find, request))).toBe('state_conflict');
    expect(await codeOf(parkItem(spine.pool, find, { ...request, why: 'old' }))).toBe('state_conflict');
    expect(await codeOf(rescueItem(spine.pool, find, request))).toBe('state_conflict');
    expect(await itemOf(spine.pool, id)).toMatchObject({ version: 1, epoch: 1, parkedAt: null });
    expect(await receiptsOf(spine.pool, id)).toEqual([]);
    expect(await eventsOf(spine.pool, id)).toEqual([]);
  });

  it('is parked in its state, is not started any more, and a person may drive it on', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await parkItem(spine.pool, find, { itemId: id, ...asSeen, why: 'older than 7d' });

    expect(await itemOf(spine.pool, id)).toMatchObject({
      ...{ state: 'READING', parkedAt: expect.any(Date) as Date, startAfter: null, endedAt: null, version: 2 },
    });
    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({ trigger: 'parked', actor: 'system', to: 'READING' });
    expect(await receiptsOf(spine.pool, id)).toMatchObject([{ result: 'parked', movingAt: null }]);
    expect(await eventsOf(spine.pool, id)).toMatchObject([{ kind: 'item_parked', owner: null }]);

    await rescueItem(spine.pool, find, { itemId: id, actor: ROOT });
    expect(await itemOf(spine.pool, id)).toMatchObject({ parkedAt: null, startAfter: expect.any(Date) as Date });
    await hand.walk(id, 'read:empty');
    expect(await attemptsOf(spine.pool, id)).toEqual(['read done']);
  });

  it('is a conflict if it has already ended', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await hand.walk(id, 'read:empty');
    const request = { itemId: id, ...asSeen, seenVersion: 2 };
    expect(await codeOf(exhaustItem(spine.pool, find, request))).toBe('state_conflict');
    expect(await codeOf(parkItem(spine.pool, find, { ...request, why: 'old' }))).toBe('state_conflict');
  });
});

describe('the budget of an item', () => {
  it('is forgotten a day after the last rescue', async () => {
    const id = await byHand(spine.pool, straight).make();
    for (let n = 0; n < 3; n += 1) await rescueItem(spine.pool, find, { itemId: id, actor: ROOT, cause });
    await spine.pool.query(`UPDATE items SET last_rescue_at = now() - interval '24 hours 1 second' WHERE id = $1`, [
      id,
    ]);

    await rescueItem(spine.pool, find, { itemId: id, actor: ROOT, cause });

    expect(await itemOf(spine.pool, id)).toMatchObject({ rescues: 1, epoch: 5 });
  });

  it('is not charged for a stop that was not the item’s fault', async () => {
    const id = await byHand(spine.pool, straight).make();
    await rescueItem(spine.pool, find, { itemId: id, actor: ROOT, cause });
    await rescueItem(spine.pool, find, { itemId: id, actor: ROOT, cause, isFree: true });
    expect(await itemOf(spine.pool, id)).toMatchObject({ rescues: 1, epoch: 3 });
  });
});

async function metadataOf(id: string): Promise<unknown> {
  const { rows } = await spine.pool.query<{ metadata: unknown }>(
    'SELECT metadata FROM audit WHERE item_id = $1 ORDER BY id DESC LIMIT 1',
    [id],
  );
  return rows[0]?.metadata;
}
