import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { findTemporalCli } from '../../scripts/find-temporal-cli.mjs';
import { type RunStart, workflowIdOf } from '../../src/core/run.js';
import { ensureIdentity, forgetRenewal } from '../../src/db/postgres/installation.js';
import { renewPage } from '../../src/db/recovery/renew-queues.js';
import { noteAccepted } from '../../src/db/spine/due.js';
import { startQueueRenewal } from '../../src/loops/queue-renewal.js';
import { type RunningTemporal, startTemporal } from '../../src/start/embedded/embedded-temporal.js';
import { createTemporalClient } from '../../src/temporal/connection.js';
import { createTemporalEngine } from '../../src/temporal/engine.js';
import { effectsOf, itemOf } from '../support/facts.js';
import { freePort } from '../support/free-port.js';
import { straight } from '../support/tables.js';
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
  await ensureIdentity(stack.pool);
  await forgetRenewal(stack.pool);
  const line = stack.line(straight);
  const temporal = ownTemporal();
  const runs = await insertMany(line, 12);
  const before = engineAt((await temporal(false)).address);
  for (const run of runs) {
    await before.engine.start(run);
    await noteAccepted(stack.limited, run);
  }
  await until('all wait', async () => (await before.engine.queue(line.table().name)).backlog === 12);

  const { address } = await temporal(true);
  const { engine, client } = engineAt(address);
  const options: WorkOptions = { address };
  await line.work(options);
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
  expect(said.filter((line) => line.includes('queues renewed'))).toMatchObject([expect.stringContaining('"count":12')]);
});

it('a process that dies half-way leaves no item to be started twice', async () => {
  await ensureIdentity(stack.pool);
  await forgetRenewal(stack.pool);
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

it('a new installation has nothing to renew', async () => {
  await stack.pool.query('DELETE FROM installation');
  await stack.pool.query('DELETE FROM items');
  await ensureIdentity(stack.pool);
  expect(await renewPage(stack.limited, {}, 10)).toBeNull();
});
