import { describe, expect, it, onTestFinished } from 'vitest';
import { createSweep } from '../../../src/activities/maintenance/sweep.js';
import type { Pipeline } from '../../../src/core/pipeline.js';
import { type RunRef, workflowIdOf } from '../../../src/core/run.js';
import type { SweepPage } from '../../../src/core/sweep-page.js';
import { cancelItem } from '../../../src/db/spine/control.js';
import { createTemporalClient } from '../../../src/temporal/connection.js';
import { createTemporalEngine } from '../../../src/temporal/engine.js';
import { auditOf, effectsOf, itemOf } from '../../support/facts.js';
import { startProxy } from '../../support/proxy.js';
import { receiptsOf } from '../../support/receipts.js';
import { ROOT } from '../../support/spine.js';
import { straight } from '../../support/tables.js';
import { until } from '../../support/until.js';
import { leave, type Line, silent, untilAborted, useStack } from '../../support/worker.js';

const stack = useStack();

/** So short that a test need not wait for silence; what it asks Temporal is what matters here. */
const hasty: Pipeline = { ...straight, sweep: { every: '1s', staleAfter: '1ms', stuckAfter: '1ms' } };

function sweep(line: Line, engine = stack.engine): Promise<SweepPage> {
  const pipeline = line.table();
  const { sweepPage } = createSweep({
    pool: stack.limited,
    engine,
    pipelines: { [pipeline.name]: pipeline },
    logger: silent,
    rescuesPerSecond: 100,
  });
  return sweepPage({ pipeline: pipeline.name, startedAt: new Date().toISOString(), rescuesLeft: 0 });
}

/** An engine behind a wire that the test can cut. Its client is not closed: a retry that the SDK has put off would find the
 *  channel shut, and throw where nobody catches it. */
async function wired() {
  const proxy = await startProxy(Number(stack.temporal.address.split(':')[1]));
  const client = createTemporalClient({ address: `127.0.0.1:${String(proxy.port)}`, namespace: 'default', tls: false });
  onTestFinished(() => proxy.close());
  return { proxy, engine: createTemporalEngine(client, { callLimitMs: 1_000 }) };
}

describe('a run that was terminated', () => {
  it('is replaced by another, which goes on where it stopped; the receipt is complete', async () => {
    const line = stack.line(hasty);
    await line.work();
    line.dispatch();
    const run = await line.start({
      check: (context) => leave(context, 'good'),
      write: (context) => (context.attempt === 1 ? untilAborted()(context) : leave(context)),
    });
    await until('the last stage runs', async () => (await itemOf(stack.pool, run.itemId)).state === 'WRITING');
    await until('its task runs', async () => (await runningStages(run)).includes('write'));
    await stack.temporal.client.workflow.getHandle(workflowIdOf(run)).terminate('by a test');

    const page = await until('a sweep finds it', async () => {
      const found = await sweep(line);
      return found.reEnqueued > 0 && found;
    });

    expect(page).toMatchObject({ totalStuck: 1, reEnqueued: 1, byStatus: { WRITING: 1 }, errors: [] });
    await until('it is done', async () => (await itemOf(stack.pool, run.itemId)).state === 'DONE');
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ epoch: 2, visit: 1, rescues: 1 });
    expect(await effectsOf(stack.pool, run.itemId)).toEqual(['1 read', '1 check', '1 write']);
    expect((await auditOf(stack.pool, run.itemId)).filter((each) => each.trigger === 'rescue')).toMatchObject([
      { actor: 'system', from: 'WRITING', to: 'WRITING', epoch: 2 },
    ]);
    expect(await receiptsOf(stack.pool, run.itemId)).toMatchObject([
      {
        ...{ reason: 'workflow_closed', result: 'moving', movingAt: expect.any(Date) as Date, epoch: 2 },
        ...{ stagesAgain: ['write'], sentence: 'Its run ended without a word (terminated), before the item did.' },
      },
    ]);
  });
});

describe('a run that is alive', () => {
  it('is left alone, however slow; and not judged while Temporal is away', async () => {
    const line = stack.line(hasty);
    const worker = await line.work();
    const run = await line.start({ read: untilAborted() });
    await until('it runs', async () => (await runningStages(run)).includes('read'));

    expect(await sweep(line)).toMatchObject({ reEnqueued: 0, permanentlyFailed: 0, parked: 0 });
    await worker.stop();
    const { proxy, engine } = await wired();
    await engine.ping();
    proxy.cut();
    const page = await until('the silence is seen', async () => {
      const found = await sweep(line, engine);
      return found.examined > 0 && found;
    });
    expect(page).toMatchObject({ isLast: true, reEnqueued: 0, reported: 0 });
    expect(page.errors).toEqual(['Temporal does not answer: everything is left as it is']);
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ epoch: 1, rescues: 0, version: 1 });
    await cancelItem(stack.pool, line.find, { itemId: run.itemId, actor: ROOT });
    await stack.engine.end(run);
  });

  it('though nobody works for it is reported, and costs nothing', async () => {
    const line = stack.line(hasty);
    const run = await line.start();
    const page = await until('a sweep finds it', async () => {
      const found = await sweep(line);
      return found.reported > 0 && found;
    });
    expect(page).toMatchObject({ reEnqueued: 0, reported: 1, errors: [] });
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ epoch: 1, rescues: 0 });
    await cancelItem(stack.pool, line.find, { itemId: run.itemId, actor: ROOT });
    await stack.engine.end(run);
  });

  it('after its item has ended is asked to end', async () => {
    const line = stack.line(hasty);
    const run = await line.start();
    await cancelItem(stack.pool, line.find, { itemId: run.itemId, actor: ROOT });
    await stack.pool.query(`UPDATE items SET ended_at = now() - interval '2 minutes' WHERE id = $1`, [run.itemId]);
    await line.work();
    await until('it is asked to end, or has ended', async () => {
      const { endedRuns } = await sweep(line);
      return endedRuns > 0 || (await line.status(run)) !== 'RUNNING';
    });
    await until('it has ended', async () => (await line.status(run)) !== 'RUNNING');
  });
});

async function runningStages(run: RunRef): Promise<string[]> {
  const { rows } = await stack.pool.query<{ stage: string }>(
    `SELECT stage FROM tasks WHERE item_id = $1 AND status = 'running'`,
    [run.itemId],
  );
  return rows.map((each) => each.stage);
}
