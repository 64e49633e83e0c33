import { hostname } from 'node:os';
import { NativeConnection } from '@temporalio/worker';
import { pino } from 'pino';
import { canaryStages } from '../../src/domains/canary/activities/stages.js';
import { SELF_HARM } from '../../src/domains/canary/start/self-harm.js';
import { createActivities } from '../../src/activities/stage-runner.js';
import { findCanarySettings, isLive } from '../../src/domains/canary/db/canaries.js';
import { createPool } from '../../src/db/postgres/client.js';
import { holdPresence } from '../../src/db/recovery/hold-presence.js';
import { seeWorker } from '../../src/db/recovery/workers.js';
import { createItemWorker } from '../../src/temporal/worker.js';
import { inProcessIsolation } from './in-process-isolation.js';
import { installRuntime } from './runtime.js';
import type { ProcessSettings } from './spawn-worker.js';

/** A worker in a process of its own that walks canaries, and kills or freezes itself where a canary says so. Started by
 *  spawn-worker.ts; ends with the process that started it. */
const settings = JSON.parse(process.argv[2] ?? '') as ProcessSettings;
const { databaseUrl, directUrl, temporalAddress, table: pipeline, id, codePath } = settings;
/** As a worker of the product: one that is not heard of for some times this counts as absent. */
const SEEN_EVERY_MS = 5_000;
process.once('disconnect', () => process.exit());

installRuntime();
const pool = createPool({ url: databaseUrl, size: 10, name: id });
await holdPresence({
  url: directUrl,
  pool,
  worker: { id, name: id, host: hostname(), pid: process.pid, build: 'test', pipelines: [pipeline.name] },
});
setInterval(() => void seeWorker(pool, id).catch(() => undefined), SEEN_EVERY_MS);
const attempts = {
  pool,
  pipeline,
  stages: canaryStages({
    find: (itemId) => findCanarySettings(pool, itemId),
    isLive: (itemId) => isLive(pool, itemId),
    self: SELF_HARM,
  }),
  logger: pino({ level: 'silent' }),
};
const worker = await createItemWorker({
  connection: await NativeConnection.connect({ address: temporalAddress }),
  namespace: 'default',
  pipeline: pipeline.name,
  identity: id,
  workflowBundle: { codePath },
  activities: createActivities({ ...attempts, worker: id, isolation: inProcessIsolation(attempts) }),
  maxActivities: 100,
  shutdownGraceMs: 0,
});
const running = worker.run();
process.send?.('ready');
await running;
