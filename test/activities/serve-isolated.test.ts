import { setImmediate as nextTurn } from 'node:timers/promises';
import { createPool } from '../../src/db/postgres/client.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Report, StopWhy } from '../../src/activities/isolation.js';
import { serveIsolated } from '../../src/activities/serve-isolated.js';
import type { AnyStage } from '../../src/ports/stage.js';
import { taskOf } from '../support/facts.js';
import { byHand, useSpine } from '../support/spine.js';
import { straight } from '../support/tables.js';
import { until } from '../support/until.js';
import { silent } from '../support/worker.js';

const spine = useSpine();

/** A claimed stage, and what its process says to the worker. */
async function serve(stage: AnyStage, pool = spine.pool) {
  const hand = byHand(spine.pool, straight);
  const id = await hand.make();
  const claimed = await hand.claimed(id);
  const { itemId, epoch, visit, state, unit } = claimed;
  const input = { pipeline: 'straight', itemId, epoch, visit, state, stage: claimed.stage, unit };
  const said: Report[] = [];
  let stop: (why: StopWhy) => void = () => undefined;
  const served = serveIsolated(
    { pool, pipeline: straight, logger: silent, stages: { [claimed.stage]: stage } },
    { pipeline: 'straight', input: { ...input, withinMs: 60_000, beatsMs: 10_000 }, claimed },
    { report: (report) => void said.push(report), onStop: (listener) => (stop = listener) },
  );
  return { id, served, said, stop: (why: StopWhy) => stop(why) };
}

describe('the process of an isolated stage', () => {
  it('lets an aborted stage put its things away before it says that it has ended', async () => {
    let isTidy = false;
    let begin: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const { id, served, said, stop } = await serve(async ({ item, signal }) => {
      begin();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      // The commit does not wait for the stage.
      await until(
        'the task is given back',
        async () => (await taskOf(spine.pool, item.id, 'read')).status === 'waiting',
      );
      for (let turn = 0; turn < 20; turn += 1) await nextTurn();
      isTidy = true;
      throw new Error('aborted');
    });
    await begun;
    stop('shutdown');
    await served;
    expect(said.at(-1)).toEqual({ said: 'settled', settled: { is: 'released', why: 'shutdown' } });
    expect(isTidy).toBe(true);
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ status: 'waiting', ownDeaths: 0 });
  });

  it('says so where the database refuses its commit', async () => {
    const url = new URL(spine.url);
    url.searchParams.set('options', '-c default_transaction_read_only=on');
    const pool = createPool({ url: url.href, size: 1, name: 'read-only' });
    onTestFinished(() => pool.end());
    const { served, said } = await serve(() => Promise.resolve({ outcome: 'done' }), pool);
    await served;
    expect(said.at(-1)).toEqual({ said: 'failed', message: expect.stringContaining('read-only') as string });
  });
});
