import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RunRef } from '../../src/core/run.js';
import { decideItem } from '../../src/db/spine/decide-item.js';
import { holdItem } from '../support/barrier.js';
import { effectsOf, itemOf, movesOf } from '../support/facts.js';
import { historyOf } from '../support/history.js';
import { ROOT } from '../support/spine.js';
import { reviewed } from '../support/tables.js';
import { until } from '../support/until.js';
import { leave, type Line, useStack } from '../support/worker.js';

const stack = useStack();
let line: Line;
beforeAll(async () => {
  line = stack.line(reviewed);
  await line.work();
});

const toReview = { judge: (context: Parameters<typeof leave>[0]) => leave(context, 'concerns') };

async function awaiting(): Promise<RunRef> {
  const run = await line.start(toReview);
  await until('a decision is awaited', async () => (await itemOf(stack.pool, run.itemId)).state === 'NEEDS_REVIEW');
  return run;
}

async function decide(itemId: string, outcome: string): Promise<void> {
  await decideItem(stack.pool, line.find, { itemId, actor: ROOT, id: randomUUID(), outcome });
}

const WHOLE_WAY = [
  '>JUDGING',
  'JUDGING>NEEDS_REVIEW',
  'NEEDS_REVIEW>SECOND_REVIEW',
  'SECOND_REVIEW>PUBLISHING',
  'PUBLISHING>PUBLISHED',
];

/** No dispatcher runs here: a wake that was missed would never be repeated. */
describe('a wake', () => {
  it('that comes while the run asks its row is not missed', async () => {
    const run = await awaiting();
    const barrier = await holdItem(stack, run.itemId);
    // The run asks, and waits for the row. Behind it in the queue for the row stands the decision.
    await stack.engine.wake(run);
    await until('the run stands before its row', isWaiting);
    const decision = await barrier.start((pool) =>
      decideItem(pool, line.find, { itemId: run.itemId, actor: ROOT, id: randomUUID(), outcome: 'reject' }),
    );
    await stack.engine.wake(run);
    await barrier.release();
    await decision.result;

    expect(await line.closed(run)).toBe('final');
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ state: 'REJECTED' });
  });

  it('that comes before the decision is committed is followed by another, and both are heard', async () => {
    const run = await awaiting();

    await stack.engine.wake(run);
    await decide(run.itemId, 'escalate');
    await stack.engine.wake(run);
    await decide(run.itemId, 'reject');
    await stack.engine.wake(run);

    expect(await line.closed(run)).toBe('final');
  });

  it('is never missed, at whatever moment it comes', async () => {
    const runs = await Promise.all(Array.from({ length: 50 }, awaiting));
    await Promise.all(
      runs.map(async (run) => {
        for (const outcome of ['escalate', 'approve']) {
          // A stray wake sends the run to its row; the decision and its wake fall anywhere in that.
          await stack.engine.wake(run);
          await delay(randomInt(0, 60));
          await decide(run.itemId, outcome);
          await stack.engine.wake(run);
        }
      }),
    );

    for (const run of runs) expect(await line.closed(run)).toBe('final');
    for (const run of runs) {
      expect(await movesOf(stack.pool, run.itemId)).toEqual(WHOLE_WAY);
      expect(await effectsOf(stack.pool, run.itemId)).toEqual(['1 judge', '1 publish']);
      expect((await historyOf(stack.temporal.client, run)).taskFailures).toEqual([]);
    }
  });

  it('of a run that is not there says so', async () => {
    const run = await awaiting();
    await decide(run.itemId, 'reject');
    expect(await stack.engine.wake(run)).toBe(true);
    expect(await line.closed(run)).toBe('final');

    expect(await stack.engine.wake(run)).toBe(false);
    expect(await stack.engine.wake({ ...run, epoch: 7 })).toBe(false);
  });
});

/** Whether a session of the worker waits for a row; in this test there is one to wait for. */
async function isWaiting(): Promise<boolean> {
  const { rows } = await stack.pool.query(
    `SELECT 1 FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'limited' AND wait_event_type = 'Lock'`,
  );
  return rows.length > 0;
}
