import { describe, expect, it, onTestFinished } from 'vitest';
import type { Pipeline } from '../../src/core/pipeline.js';
import { rereadAttempt } from '../../src/db/reread.js';
import { openSession, type Session } from '../../src/db/session.js';
import { lockWorker, registerWorker } from '../../src/db/workers.js';
import { attemptsOf, effectsOf, taskOf, tasksOf } from '../support/facts.js';
import { byHand, useSpine } from '../support/spine.js';
import { brief, straight } from '../support/tables.js';

const spine = useSpine();

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
  async function held(worker: string, pipeline: Pipeline = straight) {
    const hand = byHand(spine.pool, pipeline);
    const id = await hand.make();
    const before = await hand.claimed(id, { worker });
    await spine.pool.query(`UPDATE tasks SET started_at = now() - interval '5 seconds' WHERE item_id = $1`, [id]);
    return { hand, id, before };
  }

  it('is taken from it at no cost: Temporal was away, and the stage did nothing', async () => {
    await present('lives');
    const { hand, id, before } = await held('lives');

    const now = await hand.claimed(id, { worker: 'other' });

    expect(now).toMatchObject({ attempt: 2 });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ crashes: 0, suspect: false });
    expect(await attemptsOf(spine.pool, id)).toEqual(['read shutdown']);
    expect((await spine.pool.query('SELECT 1 FROM receipts WHERE item_id = $1', [id])).rows).toEqual([]);
    expect(await rereadAttempt(spine.pool, before)).toBe('superseded');
    expect(await hand.finish(before)).toEqual({ refused: 'superseded' });
    await hand.finish(now);
    expect(await effectsOf(spine.pool, id)).toEqual(['1 read']);
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
    const { hand, id } = await held('short-lived', brief);

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
