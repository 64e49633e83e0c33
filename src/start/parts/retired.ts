import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { createExecutionActivities } from '../../activities/job-runner.js';
import { createRetiredActivities } from '../../activities/retired.js';
import { RETIRED_QUEUES } from '../../core/reserved-queues.js';
import { runWithinTime } from '../../ports/within-time.js';
import { createQueueWorker } from '../../temporal/worker.js';
import type { JobWorkerParts } from './jobs.js';
import { keepWorking, retryUntilStopped, awaitUnlessStopped, WORKFLOW_BUNDLE } from './keep-working.js';

/** A run that is left behind waits this long at most, which is less than the shortest interval of its schedule. */
const LOOK_EVERY_MS = 30_000;

/** A retired run has a handful of steps, all of which are answered at once. */
const ROUND_MS = 20_000;

const OPEN_RUNS = `ExecutionStatus = "Running" AND TaskQueue IN (${RETIRED_QUEUES.map((name) => `"${name}"`).join(', ')})`;

/** Lets runs end that a version before `run-job` has left on its queues (src/workflows/retired.ts). Workers of these queues run only
 *  while there is such a run, because each of them costs memory and a thread. An installation with a name has no such run: those in
 *  its namespace belong to another installation. */
export async function endRetiredRuns(parts: JobWorkerParts, client: Client, stop: AbortSignal): Promise<void> {
  if (parts.admission.name !== '') return;
  async function look(): Promise<void> {
    await parts.admission.admitted;
    const { count } = await awaitUnlessStopped(stop, client.workflow.count(OPEN_RUNS));
    if (count > 0) await runWithinTime({ signal: stop, timeoutMs: ROUND_MS }, (over) => workOnce(parts, over));
  }
  while (!stop.aborted) {
    await retryUntilStopped(parts.logger, 'runs of former versions could not be looked for; trying again', stop, look);
    await delay(LOOK_EVERY_MS, undefined, { signal: stop }).catch(() => undefined);
  }
}

async function workOnce(parts: JobWorkerParts, over: AbortSignal): Promise<void> {
  const { config, pool, identity } = parts;
  const create = (queue: string, connection: NativeConnection) =>
    createQueueWorker({
      queue,
      connection,
      namespace: config.temporal.namespace,
      identity,
      workflowBundle: WORKFLOW_BUNDLE,
      activities: { ...createExecutionActivities(pool), ...createRetiredActivities() },
      maxActivities: 2,
      shutdownGraceMs: 0,
    });
  await Promise.all(
    RETIRED_QUEUES.map((queue) => keepWorking({ ...parts, name: queue }, (wire) => create(queue, wire), over)),
  );
}
