import { hostname } from 'node:os';
import { NativeConnection } from '@temporalio/worker';
import { pino } from 'pino';
import { canaryStages } from '../../src/activities/canary/stages.js';
import { createActivities } from '../../src/activities/stage-runner.js';
import type { Pipeline } from '../../src/core/pipeline.js';
import { findCanarySettings, isLive } from '../../src/db/canaries.js';
import { createPool } from '../../src/db/client.js';
import { holdPresence } from '../../src/db/presence.js';
import { createItemWorker } from '../../src/temporal/worker.js';
import { installRuntime } from './runtime.js';
import type { ProcessSettings } from './worker-child.js';

/** A worker in a process of its own that walks canaries, and kills or freezes itself where a canary says so. Started by
 *  worker-child.ts; ends with the process that started it. */
const settings = JSON.parse(process.argv[2] ?? '') as ProcessSettings;
const { databaseUrl, directUrl, temporalAddress, table, id, codePath } = settings;
process.once('disconnect', () => process.exit());

installRuntime();
const pipeline = table as Pipeline;
const pool = createPool({ url: databaseUrl, size: 10, name: id });
await holdPresence({
  url: directUrl,
  pool,
  worker: { id, name: id, host: hostname(), pid: process.pid, build: 'test', pipelines: [pipeline.name] },
});
const self = {
  kill: () => void process.kill(process.pid, 'SIGKILL'),
  freeze: () => void process.kill(process.pid, 'SIGSTOP'),
};
const worker = await createItemWorker({
  connection: await NativeConnection.connect({ address: temporalAddress }),
  namespace: 'default',
  pipeline: pipeline.name,
  identity: id,
  workflowBundle: { codePath },
  activities: createActivities({
    pool,
    pipeline,
    stages: canaryStages({
      find: (itemId) => findCanarySettings(pool, itemId),
      isLive: (itemId) => isLive(pool, itemId),
      self,
    }),
    worker: id,
    logger: pino({ level: 'silent' }),
  }),
  maxActivities: 100,
  shutdownGraceMs: 0,
});
const running = worker.run();
process.send?.('ready');
await running;
