import { NativeConnection, Runtime } from '@temporalio/worker';
import pino from 'pino';
import { canaryStages } from '../src/domains/canary/activities/stages.js';
import type { Isolation } from '../src/activities/isolation.js';
import { SELF_HARM } from '../src/domains/canary/start/self-harm.js';
import { createActivities } from '../src/activities/stage-runner.js';
import { createPool } from '../src/db/postgres/client.js';
import { findCanarySettings } from '../src/domains/canary/db/canaries.js';
import { createItemWorker } from '../src/temporal/worker.js';
import { OVERHEAD_PIPELINES } from './overhead-pipelines.js';

/** One worker process of the benchmark: it serves our pipelines and the bare workflow alike, each with the same settings. */
const [databaseUrl = '', address = '', codePath = '', name = '', namespace = 'default'] = process.argv.slice(2);

const pool = createPool({ url: databaseUrl, size: 10, name });
const insert = (step: string) => async (id: string) => {
  await pool.query({
    name: 'bare',
    text: 'INSERT INTO bare_effects (item_id, stage) VALUES ($1, $2)',
    values: [id, step],
  });
};
const bareActivities = { one: insert('one'), two: insert('two'), three: insert('three') };
export type BareActivities = typeof bareActivities;

Runtime.install({ shutdownSignals: [] });
const connection = await NativeConnection.connect({ address });
const common = {
  connection,
  namespace,
  identity: name,
  workflowBundle: { codePath },
  maxActivities: 100,
  shutdownGraceMs: 1_000,
};
const stages = canaryStages({
  find: (id) => findCanarySettings(pool, id),
  isLive: () => Promise.resolve(false),
  self: SELF_HARM,
});
/** No worker dies here, so no task becomes a suspect. */
const NONE: Isolation = {
  places: 1,
  start() {
    throw new Error('this benchmark has no isolated stages');
  },
};
const workers = await Promise.all([
  createItemWorker({ ...common, pipeline: 'bare', activities: bareActivities }),
  ...OVERHEAD_PIPELINES.map((pipeline) => {
    const logger = pino({ level: 'warn' });
    const activities = createActivities({ pool, pipeline, stages, worker: name, isolation: NONE, logger });
    return createItemWorker({ ...common, pipeline: pipeline.name, activities });
  }),
]);
process.once('disconnect', () => {
  process.exit(0);
});
const running = workers.map((worker) => worker.run());
process.send?.('ready');
await Promise.all(running);
