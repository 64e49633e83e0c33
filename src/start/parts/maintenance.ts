import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { NativeConnection, Worker } from '@temporalio/worker';
import type pg from 'pg';
import type { Logger } from 'pino';
import { createMaintenanceActivities } from '../../activities/maintenance/activities.js';
import { createSweep } from '../../activities/maintenance/sweep.js';
import { type Config, readVersion } from '../../config.js';
import { MAINTENANCE_QUEUE, type ScheduleRow } from '../../core/schedules.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { Engine } from '../../ports/engine.js';
import { reconcileSchedules } from '../../temporal/reconcile-schedules.js';
import { createQueueWorker } from '../../temporal/worker.js';
import { type Admission, membershipOf } from './admission.js';
import { keepWorking, retryUntilStopped, awaitUnlessStopped, WORKFLOW_BUNDLE } from './keep-working.js';

/** A Temporal whose store was lost comes back without schedules, and nothing would sweep the items whose runs it lost. */
const RECONCILE_EVERY_MS = 30_000;

/** A sweep is a few short statements at a time; it must not crowd out the requests beside it. */
const MAX_ACTIVITIES = 10;

/** Interrupted work is committed row by row and goes on in the next run, so shutting down waits for nothing. */
const GRACE_MS = 0;

export interface MaintenanceParts {
  config: Config;
  pool: pg.Pool;
  engine: Engine;
  pipelines: Readonly<Record<string, Pipeline>>;
  /** As operators see it beside each run in the Temporal Web UI. */
  identity: string;
  logger: Logger;
  admission: Pick<Admission, 'name' | 'admitted'>;
}

/** Reconciles the schedules and works on the task queue `maintenance`. Both happen in the background and are tried
 *  again until Temporal is there, so that the process can serve requests meanwhile. Resolves when both have ended,
 *  after `stop` is aborted. */
export async function runMaintenance(
  parts: MaintenanceParts & { admission: Admission },
  schedules: { client: Client; rows: readonly ScheduleRow[] },
  stop: AbortSignal,
): Promise<void> {
  const { logger, admission } = parts;
  const { client, rows } = schedules;
  const version = readVersion();
  async function reconcile(): Promise<void> {
    const installation = { name: admission.name, id: await admission.admitted };
    const foreign = await awaitUnlessStopped(stop, reconcileSchedules(client, rows, { version, installation }));
    if (foreign) admission.refuse(foreign);
  }
  async function keepReconciled(): Promise<void> {
    while (!stop.aborted) {
      await retryUntilStopped(logger, 'schedules could not be reconciled; trying again', stop, reconcile);
      await delay(RECONCILE_EVERY_MS, undefined, { signal: stop }).catch(() => undefined);
    }
  }
  await Promise.all([
    keepReconciled(),
    keepWorking({ ...parts, name: MAINTENANCE_QUEUE }, (connection) => maintenanceWorkerOf(parts, connection), stop),
  ]);
}

export async function maintenanceWorkerOf(parts: MaintenanceParts, connection: NativeConnection): Promise<Worker> {
  const { config, pool, identity, admission } = parts;
  const { sweepPage } = createSweep({ ...parts, rescuesPerSecond: config.schedules.rescuesPerSecond });
  return createQueueWorker({
    queue: MAINTENANCE_QUEUE,
    connection,
    namespace: config.temporal.namespace,
    identity,
    workflowBundle: WORKFLOW_BUNDLE,
    activities: createMaintenanceActivities({ pool, sweepPage }),
    maxActivities: MAX_ACTIVITIES,
    shutdownGraceMs: GRACE_MS,
    membership: await membershipOf(admission),
  });
}
