import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { findTemporalCli } from '../../scripts/find-temporal-cli.mjs';
import type { Pipeline } from '../../src/core/pipeline.js';
import { type RunStart, workflowIdOf } from '../../src/core/run.js';
import { ensureIdentity, forgetRenewal } from '../../src/db/postgres/installation.js';
import { renewPage } from '../../src/db/recovery/renew-queues.js';
import { noteAccepted } from '../../src/db/spine/due.js';
import { startQueueRenewal } from '../../src/loops/queue-renewal.js';
import { type RunningTemporal, startTemporal } from '../../src/start/embedded/embedded-temporal.js';
import { createTemporalClient } from '../../src/temporal/connection.js';
import { createTemporalEngine } from '../../src/temporal/engine.js';
import { holdItem } from '../support/barrier.js';
import { effectsOf, itemOf, taskOf } from '../support/facts.js';
import { freePort } from '../support/free-port.js';
import { byHand } from '../support/spine.js';
import { spreadAll, straight } from '../support/tables.js';
import { until } from '../support/until.js';
import { type Line, useStack, type WorkOptions } from '../support/worker.js';

const stack = useStack();

/** A Temporal server of this test's own, whose store outlives it. */
function ownTemporal() {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-renewal-'));
  let server: RunningTemporal | undefined;
  onTestFinished(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });
  return async (isFair: boolean): Promise<RunningTemporal> => {
    await server?.stop();
    const files = { cliPath: findTemporalCli(), dbFile: join(folder, 'temporal.db') };
    server = await startTemporal({ ...files, isFair, port: await freePort(), log: () => undefined });
    return server;
  };
}

function engineAt(address: string) {
  const client = createTemporalClient({ address, namespace: 'default', tls: false });
  onTestFinished(() => client.connection.close());
  return { client, engine: createTemporalEngine(client) };
}

async function insertMany(line: Line, count: number): Promise<RunStart[]> {
  const runs: RunStart[] = [];
  for (let n = 0; n < count; n += 1) runs.push(await line.insert());
  return runs;
}

it('of the items that wait while the server learns turns, every one goes on and none twice', async () => {
  await askForRenewal();
  const line = stack.line(straight);
  const temporal = ownTemporal();
  const runs = await insertMany(line, 40);
  const before = engineAt((await temporal(false)).address);
  for (const run of runs) {
    await before.engine.start(run);
    await noteAccepted(stack.limited, run);
  }
  await until('all wait', async () => (await before.engine.queue(line.table().name)).backlog === 40);

  const { address } = await temporal(true);
  const { engine, client } = engineAt(address);
  const options: WorkOptions = { address };
  const worker = await line.work(options);
  // Before its server does.
  onTestFinished(() => worker.stop());
  const said: string[] = [];
  const logger = pino({ level: 'info' }, { write: (text: string) => void said.push(text) });
  const pipelines = { [line.table().name]: line.table() };
  const renewals = [1, 2].map(() =>
    startQueueRenewal({ pool: stack.limited, engine, pipelines, logger, isAdmitted: () => true }),
  );
  onTestFinished(async () => void (await Promise.all(renewals.map((each) => each.stop()))));
  line.dispatch(engine);

  await until('all have ended', async () => {
    const items = await Promise.all(runs.map(({ itemId }) => itemOf(stack.pool, itemId)));
    return items.every((item) => item.endedAt !== null && item.epoch === 2 && item.rescues === 0);
  });
  for (const { itemId } of runs) {
    const effects = await effectsOf(stack.pool, itemId);
    expect(new Set(effects).size).toBe(effects.length);
  }
  const status = async (run: RunStart) => (await client.workflow.getHandle(workflowIdOf(run)).describe()).status.name;
  expect(await Promise.all(runs.map(status))).toEqual(runs.map(() => 'TERMINATED'));
  expect(said.filter((line) => line.includes('queues renewed'))).toMatchObject([expect.stringContaining('"count":40')]);
});

it('a process that dies half-way leaves no item to be started twice', async () => {
  await askForRenewal();
  const line = stack.line(straight);
  const pipelines = { [line.table().name]: line.table() };
  const runs = await insertMany(line, 5);
  for (const run of runs) await noteAccepted(stack.limited, run);

  const pages = [];
  for (
    let page = await renewPage(stack.limited, pipelines, 2);
    page;
    page = await renewPage(stack.limited, pipelines, 2)
  ) {
    pages.push(page);
    // The new runs are accepted and wait again, as they do while the workers are busy.
    await Promise.all(page.replaced.map((run) => noteAccepted(stack.limited, { ...run, epoch: 2 })));
  }

  expect(pages.map(({ replaced, isLast }) => [replaced.length, isLast])).toEqual([
    [2, false],
    [2, false],
    [1, true],
  ]);
  for (const { itemId } of runs) expect(await itemOf(stack.pool, itemId)).toMatchObject({ epoch: 2 });
});

/** Turns all pages, and says which items got a new run. */
async function renewAll(pipelines: Readonly<Record<string, Pipeline>>, pool = stack.limited): Promise<string[]> {
  const page = await renewPage(pool, pipelines, 50);
  if (!page) throw new Error('nobody asked for a renewal');
  if (!page.isLast) throw new Error('the test has more items than a page');
  return page.replaced.map(({ itemId }) => itemId);
}

async function askForRenewal(): Promise<void> {
  await ensureIdentity(stack.pool);
  await forgetRenewal(stack.pool);
}

it('an item whose row another session writes at that moment is waited for', async () => {
  await askForRenewal();
  const line = stack.line(straight);
  const run = await line.insert();
  await noteAccepted(stack.limited, run);
  const lock = await holdItem(stack, run.itemId);
  const renewal = await lock.start((pool) => renewAll({ [line.table().name]: line.table() }, pool));
  await lock.release();
  expect(await renewal.result).toEqual([run.itemId]);
});

it('an item whose start nobody has noted gets a new run, because Temporal may have the former one', async () => {
  await askForRenewal();
  const line = stack.line(straight);
  const run = await line.insert();
  expect(await renewAll({ [line.table().name]: line.table() })).toEqual([run.itemId]);
  expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ epoch: 2, started: false });
});

it('an item whose stage runs is left alone, and units that run are taken back where others wait', async () => {
  await askForRenewal();
  const worker = `present-${randomUUID()}`;
  await stack.pool.query(
    `INSERT INTO workers (id, name, host, pid, build, seen_at) VALUES ($1, $1, 'here', 1, 'test', now())`,
    [worker],
  );
  const table = { ...spreadAll, name: `spread-${randomUUID().slice(0, 8)}` };
  const hand = byHand(stack.limited, table);
  const [preparing, spread] = [await hand.make(), await hand.make()];
  await hand.claimed(preparing, { worker });
  await hand.finish(await hand.claimed(spread), 'done', ['a', 'b']);
  const unit = await hand.claimed(spread, { stage: 'upload', unit: 'a', worker });

  expect(await renewAll({ [table.name]: table })).toEqual([spread]);

  expect(await hand.finish(unit)).toBe('superseded');
  expect(await taskOf(stack.pool, spread, 'upload', 'a')).toMatchObject({ status: 'waiting', crashes: 0, errors: 0 });
  for (const name of ['a', 'b']) await hand.finish(await hand.claimed(spread, { stage: 'upload', unit: name }));
  expect(await hand.next(spread)).toMatchObject({ stage: 'finish' });
});

it('a new installation has nothing to renew', async () => {
  await stack.pool.query('DELETE FROM installation');
  await stack.pool.query('DELETE FROM items');
  await ensureIdentity(stack.pool);
  expect(await renewPage(stack.limited, {}, 10)).toBeNull();
});
