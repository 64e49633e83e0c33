import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Dispatcher, startDispatcher, startDue } from '../../src/loops/dispatcher.js';
import type { RunRef } from '../../src/core/run.js';
import { cancelItem, retryItem } from '../../src/db/spine/control.js';
import { decideItem } from '../../src/db/spine/decide-item.js';
import { createPool } from '../../src/db/postgres/client.js';
import type { Engine } from '../../src/ports/engine.js';
import { createTemporalClient } from '../../src/temporal/connection.js';
import { createTemporalEngine } from '../../src/temporal/engine.js';
import { holdLock } from '../support/barrier.js';
import { attemptsOf, effectsOf, itemOf } from '../support/facts.js';
import { executionsOf } from '../support/history.js';
import { type Proxy, startProxy } from '../support/proxy.js';
import { ADA, ROOT } from '../support/spine.js';
import { reviewed, straight } from '../support/tables.js';
import { until } from '../support/until.js';
import { leave, type Line, openStack, silent, type Stack } from '../support/worker.js';

/** Reviewed work that can be opened again. */
const table = {
  ...reviewed,
  states: { ...reviewed.states, REJECTED: { ends: 'failed', reopens: 'JUDGING' } },
} as const;

let stack: Stack;
let line: Line;
let proxy: Proxy;
/** The wire between Temporal and the API with its dispatcher. The worker has a wire of its own. */
let engine: Engine;
beforeAll(async () => {
  stack = await openStack();
  line = stack.line(table);
  await line.work();
  proxy = await startProxy(Number(stack.temporal.address.split(':')[1]));
  const client = createTemporalClient({ address: `127.0.0.1:${String(proxy.port)}`, namespace: 'default', tls: false });
  engine = createTemporalEngine(client, { callLimitMs: 1_000 });
  await engine.ping();
});
afterAll(async () => {
  await stack.close();
  await proxy.close();
});

/** Runs a dispatcher until the test is over. Every turn takes all due items of the database. */
function dispatching(): Dispatcher {
  const dispatcher = line.dispatch(engine);
  onTestFinished(() => dispatcher.stop());
  return dispatcher;
}

async function inState(itemId: string, state: string): Promise<void> {
  await until(`the item is in ${state}`, async () => (await itemOf(stack.pool, itemId)).state === state);
}

async function walkedOnce(run: RunRef): Promise<void> {
  expect(await line.closed(run)).toBe('final');
  expect(await executionsOf(stack.temporal.client, run)).toHaveLength(1);
  expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['judge done', 'publish done']);
  expect(await effectsOf(stack.pool, run.itemId)).toEqual(['1 judge', '1 publish']);
}

const passes = { judge: (context: Parameters<typeof leave>[0]) => leave(context, 'pass') };
const isDoubtful = { judge: (context: Parameters<typeof leave>[0]) => leave(context, 'concerns') };

describe('an item whose run was not started', () => {
  it('is started within seconds, though the process that inserted it died', async () => {
    dispatching();
    const insertedAt = performance.now();
    const run = await line.insert(passes);

    await until('the run has claimed', async () => (await itemOf(stack.pool, run.itemId)).started);

    expect(performance.now() - insertedAt).toBeLessThan(10_000);
    await walkedOnce(run);
  });

  it('gets one run from many dispatchers', async () => {
    const runs = await Promise.all(Array.from({ length: 5 }, () => line.insert(passes)));
    for (let n = 0; n < 3; n += 1) dispatching();

    for (const run of runs) await walkedOnce(run);
  });

  it('gets one run when the answer to its start was lost', async () => {
    const run = await line.insert(passes);
    const { lost, breakOff } = proxy.loseAnswer((request) => request.includes(run.itemId));
    const asked = engine.start(run).then(
      () => 'answered by a second try',
      (error: { code?: string }) => error.code,
    );
    await lost;
    breakOff();
    dispatching();

    expect(['answered by a second try', 'engine_unavailable']).toContain(await asked);
    await walkedOnce(run);
  });

  it('is started when Temporal is back, after waits that grow', async () => {
    proxy.cut();
    onTestFinished(() => {
      proxy.heal();
    });
    const dispatcher = dispatching();
    const run = await line.insert(passes);

    await until('a start was tried twice', async () => {
      const { rows } = await stack.pool.query('SELECT 1 FROM items WHERE id = $1 AND start_tries >= 2', [run.itemId]);
      return rows.length > 0;
    });
    const { rows } = await stack.pool.query<{ waits: number }>(
      'SELECT extract(epoch FROM start_after - updated_at)::float8 AS waits FROM items WHERE id = $1',
      [run.itemId],
    );
    expect(rows[0]?.waits).toBeGreaterThan(4);
    expect(dispatcher.lastTurnAt()).toBeInstanceOf(Date);
    proxy.heal();

    await walkedOnce(run);
  });

  it('is started again in a new epoch when it is reopened', async () => {
    dispatching();
    const first = await line.start({ judge: (context) => leave(context, context.item.visit === 1 ? 'fail' : 'pass') });
    expect(await line.closed(first)).toBe('final');

    await retryItem(stack.limited, line.find, { itemId: first.itemId, actor: ADA });

    await inState(first.itemId, 'PUBLISHED');
    expect(await line.closed({ ...first, epoch: 2 })).toBe('final');
    expect(await effectsOf(stack.pool, first.itemId)).toEqual(['1 judge', '2 judge', '2 publish']);
  });

  it('does not keep other items from being started when its pipeline is unknown', async () => {
    const other = stack.line(straight);
    await other.insert();
    const run = await line.insert(passes);
    await stack.pool.query(`UPDATE items SET start_after = now() - interval '1 s' WHERE NOT started`);

    const counts = await startDue({
      pool: stack.limited,
      engine,
      pipelines: { [run.pipeline]: line.table() },
      logger: silent,
    });

    expect(counts).toEqual({ taken: 1, failed: 0 });
    await walkedOnce(run);
  });
});

describe('a run that has not seen its row', () => {
  it('hears of decisions that were made while Temporal was away', async () => {
    dispatching();
    const run = await line.start(isDoubtful);
    await inState(run.itemId, 'NEEDS_REVIEW');
    proxy.cut();
    onTestFinished(() => {
      proxy.heal();
    });

    for (const outcome of ['escalate', 'approve']) {
      const changed = await decideItem(stack.limited, line.find, {
        itemId: run.itemId,
        actor: ROOT,
        id: randomUUID(),
        outcome,
      });
      await expect(engine.wake(changed)).rejects.toMatchObject({ code: 'engine_unavailable' });
    }
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ state: 'PUBLISHING' });
    proxy.heal();

    expect(await line.closed(run)).toBe('final');
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ state: 'PUBLISHED', wakeAfter: null });
    expect(await effectsOf(stack.pool, run.itemId)).toEqual(['1 judge', '1 publish']);
  });

  it('is ended when its item was cancelled and the cancelling process died', async () => {
    dispatching();
    const run = await line.start(isDoubtful);
    await inState(run.itemId, 'NEEDS_REVIEW');

    await cancelItem(stack.limited, line.find, { itemId: run.itemId, actor: ADA });

    expect(await line.closed(run)).toBe('CANCELLED');
    await until('nothing more is due', async () => (await itemOf(stack.pool, run.itemId)).wakeAfter === null);
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ state: 'REJECTED', runEndedAt: null });
  });
});

describe('a dispatcher', () => {
  it('starts items while its releases hang, and says which duty is late', async () => {
    const lock = await holdLock(stack, 'LOCK TABLE holds IN ACCESS EXCLUSIVE MODE');
    const dispatcher = dispatching();
    const run = await line.insert(passes);

    await until('the run was asked for', async () => {
      const { rows } = await stack.pool.query('SELECT 1 FROM items WHERE id = $1 AND accepted_at IS NOT NULL', [
        run.itemId,
      ]);
      return rows.length > 0;
    });
    await until('the other duties have made a turn', () => dispatcher.slowestDuty() === 'releases');
    expect(dispatcher.lastTurnAt()).toBeNull();

    await lock.release();
    await walkedOnce(run);
  });

  it('goes on when the database is away, and stops when it is told to', async () => {
    const pool = createPool({ url: 'postgres://nobody@127.0.0.1:1/none', size: 1, name: 'away' });
    let warned = 0;
    const logger = { ...silent, warn: () => (warned += 1) } as unknown as typeof silent;
    const dispatcher = startDispatcher({ pool, engine, pipelines: {}, logger });

    await until('it has tried twice', () => {
      dispatcher.wake();
      return warned >= 2;
    });

    expect(dispatcher.lastTurnAt()).toBeNull();
    await dispatcher.stop();
    await pool.end();
  });
});
