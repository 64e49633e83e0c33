import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { NativeConnection, type Worker } from '@temporalio/worker';
import type pg from 'pg';
import type { Logger } from 'pino';
import { createMaintenanceActivities } from '../activities/maintenance/activities.js';
import { createSweep } from '../activities/maintenance/sweep.js';
import { type Config, projectRoot } from '../config.js';
import type { ScheduleRow } from '../core/schedules.js';
import type { Pipeline } from '../core/pipeline.js';
import type { Engine } from '../ports/engine.js';
import { connectionOptionsOf } from '../temporal/connection.js';
import { reconcileSchedules } from '../temporal/reconcile-schedules.js';
import { createMaintenanceWorker } from '../temporal/worker.js';

/** Between tries at a Temporal that is away. */
const RETRY_MS = 2_000;

/** A Temporal whose store was lost comes back without schedules, and nothing would sweep the items whose runs it lost. */
const RECONCILE_EVERY_MS = 30_000;

/** Maintenance is a few short statements at a time; it must not crowd out the requests beside it. */
const MAX_ACTIVITIES = 10;

/** What is cut off is committed row by row and goes on in the next run, so shutting down waits for nothing. */
const GRACE_MS = 0;

export interface MaintenanceParts {
  config: Config;
  pool: pg.Pool;
  engine: Engine;
  pipelines: Readonly<Record<string, Pipeline>>;
  /** As operators see it beside each run in the Temporal Web UI. */
  identity: string;
  logger: Logger;
}

/** Reconciles the schedules and works on the task queue `maintenance`, both in the background and again and again until
 *  Temporal is there: whoever serves beside it serves meanwhile. Resolves when all has let go, after `stop` is aborted. */
export async function runMaintenance(
  parts: MaintenanceParts,
  schedules: { client: Client; rows: readonly ScheduleRow[] },
  stop: AbortSignal,
): Promise<void> {
  const { logger } = parts;
  const reconcile = (): Promise<void> => unlessStopped(stop, reconcileSchedules(schedules.client, schedules.rows));
  async function keepReconciled(): Promise<void> {
    while (!stop.aborted) {
      await retried(logger, 'schedules could not be reconciled; trying again', stop, reconcile);
      await delay(RECONCILE_EVERY_MS, undefined, { signal: stop }).catch(() => undefined);
    }
  }
  await Promise.all([
    keepReconciled(),
    retried(logger, 'maintenance worker does not run; trying again', stop, () => work(parts, stop)),
  ]);
}

async function work(parts: MaintenanceParts, stop: AbortSignal): Promise<void> {
  const { config, logger } = parts;
  const address = config.temporal.address ?? '';
  const settings = connectionOptionsOf({ ...config.temporal, address });
  const connection = await unlessStopped(stop, NativeConnection.connect(settings));
  try {
    const worker = await maintenanceWorkerOf(parts, connection);
    const shutDown = (): void => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
    };
    stop.addEventListener('abort', shutDown);
    const running = worker.run();
    if (stop.aborted) shutDown();
    logger.info('maintenance worker ready');
    await running;
  } finally {
    await connection.close();
  }
}

export function maintenanceWorkerOf(parts: MaintenanceParts, connection: NativeConnection): Promise<Worker> {
  const { config, pool, identity } = parts;
  const { sweepPage } = createSweep(parts);
  return createMaintenanceWorker({
    connection,
    namespace: config.temporal.namespace,
    identity,
    workflowBundle: { codePath: join(projectRoot, 'dist', 'workflow-bundle.js') },
    activities: createMaintenanceActivities({ pool, kept: config.kept, sweepPage }),
    maxActivities: MAX_ACTIVITIES,
    shutdownGraceMs: GRACE_MS,
  });
}

/** Until it ends without an error, or is no longer wanted. */
async function retried(logger: Logger, says: string, stop: AbortSignal, call: () => Promise<void>): Promise<void> {
  while (!stop.aborted) {
    try {
      await call();
      return;
    } catch (error) {
      if (stop.aborted) return;
      logger.warn({ err: error }, says);
      await delay(RETRY_MS, undefined, { signal: stop }).catch(() => undefined);
    }
  }
}

/** A server that does not answer must not keep us from ending. */
async function unlessStopped<T>(stop: AbortSignal, call: Promise<T>): Promise<T> {
  stop.throwIfAborted();
  let end: () => void = () => undefined;
  const stopped = new Promise<never>((_, reject) => {
    end = () => {
      reject(stop.reason as Error);
    };
  });
  stop.addEventListener('abort', end);
  try {
    return await Promise.race([call, stopped]);
  } finally {
    stop.removeEventListener('abort', end);
  }
}
