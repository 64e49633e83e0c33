import type { NativeConnection, Worker } from '@temporalio/worker';
import type pg from 'pg';
import type { Logger } from 'pino';
import {
  createDiscoveryActivities,
  createEnrichmentActivities,
  createStatsActivities,
} from '../activities/background/activities.js';
import { createNpmIndex } from '../domains/submission/adapters/package-index-npm.js';
import { createGitHubHost } from '../domains/submission/adapters/repository-host-github.js';
import type { Config } from '../config.js';
import type { Pipeline } from '../core/pipeline.js';
import { BACKGROUND_QUEUES, type BackgroundQueue, type ScheduleRow } from '../core/schedules.js';
import { createPool } from '../db/postgres/client.js';
import { submitFound } from '../domains/submission/db/submit-found.js';
import { createJobWorker } from '../temporal/worker.js';
import { keepWorking, WORKFLOW_BUNDLE } from './parts/keep-working.js';

/** The one that runs, and the end of another that is given up. */
const MAX_ACTIVITIES = 2;

/** One for each queue: connections of their own, so that none is taken from the sweeps and requests beside them. */
const CONNECTIONS = BACKGROUND_QUEUES.length;

/** What is cut off is done again by the next run, so shutting down waits for nothing. */
const GRACE_MS = 0;

export interface BackgroundParts {
  config: Config;
  databaseUrl: string;
  pipelines: Readonly<Record<string, Pipeline>>;
  identity: string;
  logger: Logger;
}

/** Works on the queues of statistics, discovery and enrichment, as far as they are switched on. Each has a worker of its own:
 *  one that hangs or is flooded keeps nobody else waiting. */
export async function runBackground(
  parts: BackgroundParts,
  rows: readonly ScheduleRow[],
  stop: AbortSignal,
): Promise<void> {
  const pool = createPool({ url: parts.databaseUrl, size: CONNECTIONS, name: 'background' });
  const wanted = BACKGROUND_QUEUES.filter((queue) => rows.some((row) => row.isOn && row.taskQueue === queue));
  try {
    await Promise.all(
      wanted.map((queue) => {
        const create = (connection: NativeConnection): Promise<Worker> => workerOf(parts, { queue, pool, connection });
        return keepWorking({ ...parts, name: queue }, create, stop);
      }),
    );
  } finally {
    await pool.end();
  }
}

interface Placed {
  queue: BackgroundQueue;
  pool: pg.Pool;
  connection: NativeConnection;
}

function workerOf(parts: BackgroundParts, { queue, pool, connection }: Placed): Promise<Worker> {
  return createJobWorker({
    queue,
    connection,
    namespace: parts.config.temporal.namespace,
    identity: parts.identity,
    workflowBundle: WORKFLOW_BUNDLE,
    activities: activitiesOf(parts, queue, pool),
    maxActivities: MAX_ACTIVITIES,
    shutdownGraceMs: GRACE_MS,
  });
}

function activitiesOf({ config, pipelines, logger }: BackgroundParts, queue: BackgroundQueue, pool: pg.Pool): object {
  if (queue === 'stats') return createStatsActivities(pool);
  const { npmUrl: registryUrl, downloadsUrl, githubUrl: apiUrl, githubToken: token, ...limits } = config.sources;
  const packages = createNpmIndex({ registryUrl, downloadsUrl, ...limits });
  const host = createGitHubHost({ apiUrl, token, ...limits });
  if (queue === 'enrichment') return createEnrichmentActivities({ pool, packages, host });
  const submit = submitFound(pipelines['submission'], config.submission);
  return createDiscoveryActivities({ pool, packages, host, submit, logger });
}
