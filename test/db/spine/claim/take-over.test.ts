import { describe, expect, it, onTestFinished } from 'vitest';
import type { BreakerSettings } from '../../../../src/core/breaker.js';
import type { Pipeline } from '../../../../src/core/pipeline.js';
import { rescueItem } from '../../../../src/db/spine/control.js';
import { rereadAttempt } from '../../../../src/db/spine/reread.js';
import { openSession, type Session } from '../../../../src/db/postgres/session.js';
import { lockWorker, registerWorker } from '../../../../src/db/recovery/workers.js';
import { attemptsOf, effectsOf, taskOf, tasksOf } from '../../../support/facts.js';
import { receiptsOf } from '../../../support/receipts.js';
import { byHand, FAILURE, findIn, ROOT, useSpine } from '../../../support/spine.js';
import { brief, spreadAll, straight } from '../../../support/tables.js';

const spine = useSpine();

const BREAKER: BreakerSettings = {
  ...{ share: 0.5, failures: 5, sample: 20, window: '5m', probeAfter: '30s', probeMax: '10m' },
  ...{ releasePerSecond: 1, releaseMaxPerSecond: 20 },
};
const stormy: Pipeline = { ...straight, name: 'stormy', breaker: BREAKER };

/** The facts of a task that went from one living worker to another. */
const GIVEN_BACK = {
  ...{
    reason: 'engine_unreachable',
    state: 'READING',
    epoch: 1,
    stage: 'read',
    stagesAgain: ['read'],
    actor: 'system',
  },
  sentence:
    'Temporal lost sight of worker lives, which was alive and at work on read; the stage was given back at no cost: ' +
    'no error, no crash and no rescue is counted.',
  ...{ result: 'moving', movingAt: expect.any(Date) as Date },
};

describe('a task that is claimed while the attempt before lives', () => {
  /** A worker that is registered and holds its lock, as long as the session is open. */
  async function present(id: string): Promise<Session> {
    const session = await openSession({ url: spine.url, name: id });
    onTestFinished(() => session.close());
    await lockWorker(session, id);
    await registerWorker(session, { id, name: id, host: 'here', pid: 1, build: 'test', pipelines: ['straight'] });
    return session;
  }

  async function silentFor(id: string, ms: number): Promise<void> {
    await spine.pool.query(`UPDATE tasks SET beat_at = now() - $2 * interval '1 millisecond' WHERE item_id = $1`, [
      id,
      ms,
    ]);
  }

  /** Claimed as long ago as it takes Temporal to miss a heartbeat. */
  async function held(
    worker: string,
    { pipeline = straight, isLocal = false }: { pipeline?: Pipeline; isLocal?: boolean } = {},
  ) {
    const hand = byHand(spine.pool, pipeline);
    const id = await hand.make();
    const before = await hand.claimed(id, { worker, isLocal });
    await spine.pool.query(`UPDATE tasks SET started_at = now() - interval '5 seconds' WHERE item_id = $1`, [id]);
    return { hand, id, before };
  }

  it('is taken from it at no cost: Temporal was away, and the stage did nothing', async () => {
    await present('lives');
    const { hand, id, before } = await held('lives');

    const now = await hand.claimed(id, { worker: 'other' });

    expect(now).toMatchObject({ attempt: 2 });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ crashes: 0, isolated: false });
    expect(await attemptsOf(spine.pool, id)).toEqual(['read given_back']);
    expect(await receiptsOf(spine.pool, id)).toMatchObject([GIVEN_BACK]);
    expect(await rereadAttempt(spine.pool, before)).toBe('superseded');
    expect(await hand.finish(before)).toBe('superseded');
    await hand.finish(now);
    expect(await effectsOf(spine.pool, id)).toEqual(['1 read']);
  });

  it('has a receipt that waits with it for a breaker, and is completed by the claim that is granted', async () => {
    await present('lives');
    const { hand, id } = await held('lives', { pipeline: stormy });
    for (let n = 0; n < BREAKER.failures; n += 1) {
      await hand.commit(await hand.claimed(await hand.make()), { is: 'error', error: FAILURE, retryInMs: 0 });
    }
    expect(await hand.claim(id, { worker: 'other' })).toMatchObject({ is: 'hold', reason: 'breaker_open' });
    expect(await receiptsOf(spine.pool, id)).toMatchObject([{ ...GIVEN_BACK, result: 'waiting', movingAt: null }]);

    await spine.pool.query('DELETE FROM breakers WHERE pipeline = $1', [stormy.name]);
    await spine.pool.query('DELETE FROM holds WHERE pipeline = $1', [stormy.name]);
    await hand.claimed(id, { worker: 'other' });

    expect(await receiptsOf(spine.pool, id)).toMatchObject([GIVEN_BACK]);
  });

  it('is a crash if its row was not beaten, though the process is there: frozen, or its event loop blocked', async () => {
    await present('frozen-but-there');
    const { hand, id } = await held('frozen-but-there');
    await silentFor(id, 3_500);

    await hand.claimed(id, { worker: 'other' });

    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ crashes: 1 });
  });

  it('is a crash if it was given up before a heartbeat could be missed, or it would be repeated for ever', async () => {
    await present('quick');
    const { hand, id } = await held('quick');
    await spine.pool.query('UPDATE tasks SET started_at = now() WHERE item_id = $1', [id]);

    await hand.claimed(id, { worker: 'other' });

    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ crashes: 1 });
  });

  it('is a crash if the stage is short, whose row nobody beats', async () => {
    await present('short-lived');
    const { hand, id } = await held('short-lived', { pipeline: brief, isLocal: true });

    await hand.claimed(id, { worker: 'other' });

    expect((await tasksOf(spine.pool, id))[0]).toMatchObject({ crashes: 1 });
  });

  it('is a crash if the lock is gone, however young the last beat', async () => {
    const session = await present('just-died');
    const { hand, id } = await held('just-died');
    await session.query('SELECT pg_advisory_unlock_all()');

    await hand.claimed(id, { worker: 'other' });

    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ crashes: 1 });
  });

  it('is a crash if the worker was found dead', async () => {
    await present('found-dead');
    const { hand, id } = await held('found-dead');
    await spine.pool.query(`UPDATE workers SET seen_gone_at = now() WHERE id = 'found-dead'`);

    await hand.claimed(id, { worker: 'other' });

    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ crashes: 1 });
  });
});

describe('a task that its own worker gives back, because Temporal lost sight of it', () => {
  it('costs nothing, and has a receipt when its run asks for it again', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const lost = await hand.claimed(id, { worker: 'lives' });

    await hand.commit(lost, { is: 'released', why: 'lost_sight' });
    expect(await attemptsOf(spine.pool, id)).toEqual(['read superseded']);
    expect(await receiptsOf(spine.pool, id)).toEqual([]);
    const now = await hand.claimed(id, { worker: 'other' });

    expect(now).toMatchObject({ attempt: 2, errors: 0 });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ crashes: 0, errors: 0, isolated: false });
    expect(await receiptsOf(spine.pool, id)).toMatchObject([GIVEN_BACK]);
    await hand.finish(now);
    expect(await attemptsOf(spine.pool, id)).toEqual(['read given_back', 'read done']);
  });

  it('leaves one for each time, and none when another has it by then', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    for (let n = 0; n < 2; n += 1) {
      await hand.commit(await hand.claimed(id, { worker: 'lives' }), { is: 'released', why: 'lost_sight' });
    }
    const late = await hand.claimed(id, { worker: 'lives' });
    await hand.claimed(id, { worker: 'other' });

    expect(await hand.commit(late, { is: 'released', why: 'lost_sight' })).toBe('superseded');

    expect((await receiptsOf(spine.pool, id)).map(({ reason, result }) => `${reason} ${result}`)).toEqual([
      ...['engine_unreachable moving', 'engine_unreachable moving', 'silent_worker moving'],
    ]);
  });

  it('has the receipt of the rescue alone where its run had been closed', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await hand.commit(await hand.claimed(id, { worker: 'lives' }), { is: 'released', why: 'lost_sight' });
    const cause = { reason: 'workflow_closed', sentence: 'its run was terminated' };
    await rescueItem(spine.pool, findIn(straight), { itemId: id, actor: ROOT, cause });
    await hand.finish(await hand.claimed(id, { worker: 'other' }));

    expect(await attemptsOf(spine.pool, id)).toEqual(['read superseded', 'read done']);
    expect(await receiptsOf(spine.pool, id)).toMatchObject([{ reason: 'workflow_closed', result: 'moving' }]);
  });

  it('leaves the item alone if the task is a unit', async () => {
    const hand = byHand(spine.pool, spreadAll);
    const id = await hand.make();
    await hand.finish(await hand.claimed(id, { stage: 'prepare' }), 'done', ['a', 'b']);
    const unit = { stage: 'upload', unit: 'a' };
    await hand.commit(await hand.claimed(id, unit), { is: 'released', why: 'lost_sight' });
    await hand.claimed(id, unit);

    expect(await receiptsOf(spine.pool, id)).toMatchObject([
      { reason: 'engine_unreachable', ...unit, stagesAgain: ['upload'], result: 'moving' },
    ]);
  });
});
