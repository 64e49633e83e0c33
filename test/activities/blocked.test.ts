import { expect, it, onTestFinished } from 'vitest';
import { definePipeline, stage } from '../../src/core/pipeline.js';
import { openSession } from '../../src/db/postgres/session.js';
import { lockWorker, registerWorker } from '../../src/db/recovery/workers.js';
import { attemptsOf, taskOf } from '../support/facts.js';
import { until } from '../support/until.js';
import { untilAborted, useStack } from '../support/worker.js';

const blocking = definePipeline({
  name: 'blocking',
  start: 'WORKING',
  sweep: { every: '10s', staleAfter: '5s', stuckAfter: '15s' },
  rescue: { budget: 3, backoff: ['2s'], budgetResetAfter: '24h', oldestRescued: '7d', exhausted: 'FAILED' },
  cancelled: 'FAILED',
  states: {
    WORKING: {
      does: stage('work', { tries: 3, within: '60s', beats: '2s', spent: { move: 'FAILED' } }),
      then: { done: 'DONE' },
    },
    DONE: { ends: 'done' },
    FAILED: { ends: 'failed' },
  },
});

const BEATS_MS = 2_000;
const stack = useStack();

async function present(id: string): Promise<void> {
  const session = await openSession({ url: stack.url, name: id });
  onTestFinished(() => session.close());
  await lockWorker(session, id);
  await registerWorker(session, { id, name: id, host: 'here', pid: 1, build: 'test', pipelines: ['blocking'] });
}

/** Until Temporal could have missed a heartbeat: before, an attempt that is given up counts as a crash anyway. */
async function hasRunForItsTimeout(itemId: string): Promise<void> {
  await until('it has run for its heartbeat timeout', async () => {
    const { rows } = await stack.pool.query(
      `SELECT 1 FROM tasks WHERE item_id = $1 AND started_at < now() - $2 * interval '1 ms'`,
      [itemId, BEATS_MS],
    );
    return rows.length > 0;
  });
}

it('a stage that blocks its process is a crash, though the same process takes it up again and beats as it wakes', async () => {
  const line = stack.line(blocking);
  await present('blocked');
  await line.work({ id: 'blocked' });
  const run = await line.start({
    work: async (context) => {
      if (context.attempt > 1) return { outcome: 'done' };
      await hasRunForItsTimeout(context.item.id);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * BEATS_MS);
      return untilAborted()(context);
    },
  });
  expect(await line.closed(run)).toBe('final');

  expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['work crash', 'work done']);
  expect(await taskOf(stack.pool, run.itemId, 'work')).toMatchObject({ crashes: 1 });
});
