import type { Client } from '@temporalio/client';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { workflowIdOf } from '../../src/core/run.js';
import { createTemporalClient } from '../../src/temporal/connection.js';
import { createTemporalEngine } from '../../src/temporal/engine.js';
import { ensureSearchAttribute } from '../../src/temporal/search-attributes.js';
import { attemptsOf } from '../support/facts.js';
import { executionsOf } from '../support/history.js';
import { startProxy } from '../support/proxy.js';
import { straight } from '../support/tables.js';
import { until } from '../support/until.js';
import { type Line, useStack } from '../support/worker.js';

const stack = useStack();
let line: Line;
beforeAll(() => {
  line = stack.line(straight);
});

/** An engine behind a wire that the test can damage. */
async function wired() {
  const proxy = await startProxy(Number(stack.temporal.address.split(':')[1]));
  const client = createTemporalClient({ address: `127.0.0.1:${String(proxy.port)}`, namespace: 'default', tls: false });
  onTestFinished(async () => {
    await client.connection.close();
    await proxy.close();
  });
  return { proxy, engine: createTemporalEngine(client, { callLimitMs: 1_000 }) };
}

async function describeRun(run: Parameters<typeof workflowIdOf>[0]) {
  return stack.temporal.client.workflow.getHandle(workflowIdOf(run)).describe();
}

describe('a run', () => {
  it('is started once, however often it is asked for, also after it has ended', async () => {
    const run = await line.insert();
    await Promise.all(Array.from({ length: 5 }, () => stack.engine.start(run)));
    await line.work();
    expect(await line.closed(run)).toBe('final');

    await stack.engine.start(run);

    expect(await line.status(run)).toBe('COMPLETED');
    expect(await executionsOf(stack.temporal.client, run)).toHaveLength(1);
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['read done', 'check done', 'write done']);
  });

  it('is found by its pipeline, and its summary names the item', async () => {
    const run = await line.start();
    const found = await describeRun(run);

    expect(found.searchAttributes['Pipeline']).toEqual([run.pipeline]);
    expect(await found.staticSummary()).toBe(`${run.pipeline} ${run.itemId}`);
  });

  it('is ended without an error even if it has ended or never existed', async () => {
    const run = await line.start();
    expect(await line.closed(run)).toBe('final');

    await expect(stack.engine.end(run)).resolves.toBeUndefined();
    await expect(stack.engine.end({ ...run, epoch: 9 })).resolves.toBeUndefined();
  });
});

describe('an engine that is away', () => {
  it('is soon reported by every call, and is used again when it is back', async () => {
    const { proxy, engine } = await wired();
    const run = await line.insert();
    proxy.cut();

    for (const call of [() => engine.start(run), () => engine.wake(run), () => engine.end(run), () => engine.ping()]) {
      const askedAt = performance.now();
      await expect(call()).rejects.toMatchObject({ code: 'engine_unavailable' });
      expect(performance.now() - askedAt).toBeLessThan(4_000);
    }

    proxy.heal();
    await until('the engine answers', () =>
      engine.ping().then(
        () => true,
        () => false,
      ),
    );
    await engine.start(run);
    expect(await line.closed(run)).toBe('final');
  });

  it('is reported when it does not answer at all', async () => {
    const { proxy, engine } = await wired();
    await engine.ping();
    proxy.stall();

    await expect(engine.ping()).rejects.toMatchObject({ code: 'engine_unavailable' });
    proxy.heal();
  });
});

describe('the search attribute', () => {
  it('is added once, however often it is asked for', async () => {
    expect(await ensureSearchAttribute(stack.temporal.client)).toBe(true);
    expect(await ensureSearchAttribute(stack.temporal.client)).toBe(true);
  });

  /** Answers like a hosted Temporal, which does not offer its operator service. */
  function refusing(code: number): Client {
    const refuse = () => Promise.reject(Object.assign(new Error('no'), { code }));
    const operatorService = { listSearchAttributes: refuse, addSearchAttributes: refuse };
    return { options: { namespace: 'default' }, connection: { operatorService } } as unknown as Client;
  }

  it.each([
    ['PERMISSION_DENIED', 7],
    ['UNIMPLEMENTED', 12],
  ])('is done without where we may not even look: %s', async (_, code) => {
    expect(await ensureSearchAttribute(refusing(code))).toBe(false);
  });

  it('is asked for again when the engine was away', async () => {
    await expect(ensureSearchAttribute(refusing(14))).rejects.toThrow('no');
  });
});
