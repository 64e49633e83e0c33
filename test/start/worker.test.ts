import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from 'vitest';
import { projectRoot } from '../../src/config.js';
import { runStartOf } from '../../src/db/spine/items.js';
import { canary } from '../../src/domains/canary/table.js';
import { PIPELINES } from '../../src/domains/tables.js';
import { createTemporalEngine } from '../../src/temporal/engine.js';
import { reconcileSchedules } from '../../src/temporal/reconcile-schedules.js';
import { historyOf } from '../support/history.js';
import { type Maintenance, openMaintenance } from '../support/maintenance.js';
import { SCHEDULES } from '../support/schedules.js';

let maintenance: Maintenance;
beforeAll(async () => {
  maintenance = await openMaintenance();
});
afterAll(() => maintenance.close());

async function startWorker(...args: string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'src/start/worker.ts', ...args], {
    cwd: projectRoot,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: {
      ...{ PATH: process.env['PATH'], HOME: process.env['HOME'], LOG_LEVEL: 'error', WORKER_NAME: 'janitor' },
      ...{ DATABASE_URL: maintenance.url, TEMPORAL_ADDRESS: inject('temporalAddress') },
      TEMPORAL_NAMESPACE: maintenance.namespace,
    },
  });
  const [message] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [unknown];
  expect(message).toEqual({ ready: true });
  return child;
}

it('a worker that was told to sweeps as well, where no API does, and lets go when asked to stop', async () => {
  const child = await startWorker('--maintenance', '--pipelines', 'canary');

  const workflowId = await maintenance.play('sweep', { pipeline: 'canary', rescues: 10 });

  expect(await maintenance.jobs('sweep-canary')).toMatchObject([{ status: 'completed', errors: [] }]);
  const { json } = await historyOf(maintenance.client, { workflowId });
  const identities = JSON.stringify(json).match(/janitor@[^:"]+:\d+/g) ?? [];
  expect([...new Set(identities)]).toEqual([expect.stringMatching(new RegExp(`:${String(child.pid)}$`))]);
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

it('a worker says again and again that it is there, because its supervisor would end it for its silence', async () => {
  const child = await startWorker('--pipelines', 'canary');
  onTestFinished(() => void child.kill('SIGKILL'));

  expect(await once(child, 'message')).toEqual([{ alive: true }, undefined]);
  expect(await once(child, 'message')).toEqual([{ alive: true }, undefined]);
});

it('a worker leaves when it is given a task of an installation that has come to the namespace after it', async () => {
  const child = await startWorker('--pipelines', 'canary');
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  const theirs = { name: '', id: randomUUID() };
  await reconcileSchedules(maintenance.client, SCHEDULES, { version: '1.2.3', installation: theirs });
  const engine = createTemporalEngine(maintenance.client, { membership: { name: '', id: () => theirs.id } });
  const item = { itemId: randomUUID(), owner: 'ada', priority: 0, state: canary.start, visit: 1, epoch: 1 };
  const run = runStartOf(canary, item);
  await engine.start(run);

  expect(await once(child, 'close')).toEqual([78, null]);
  expect(said).toContain(`belongs to installation ${theirs.id}`);
  expect(await engine.describe(run)).toEqual({ is: 'alive', wedgedBy: null });
});

it('names the pipelines there are to one that was told of another', async () => {
  const child = spawn(process.execPath, ['--import', 'tsx', 'src/start/worker.ts', '--pipelines', 'unheard'], {
    cwd: projectRoot,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  expect(await once(child, 'close')).toEqual([1, null]);
  expect(said).toBe(`cannot start: no pipeline unheard; there are ${Object.keys(PIPELINES).join(', ')}\n`);
});
