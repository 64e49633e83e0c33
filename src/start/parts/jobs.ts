import type { NativeConnection, Worker } from '@temporalio/worker';
import type pg from 'pg';
import type { Logger } from 'pino';
import { createExecutionActivities, createPageActivities } from '../../activities/job-runner.js';
import { createRetentionPage, type Retained } from '../../activities/maintenance/retention.js';
import type { Config } from '../../config.js';
import { JOBS_QUEUE, jobQueueOf, RETENTION_JOB } from '../../core/jobs.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { ScheduledJob } from '../../core/schedules.js';
import { createPool } from '../../db/postgres/client.js';
import { ENGINE_KEEPS } from '../../db/recovery/retention.js';
import { DOMAINS } from '../../domains/domains.js';
import type { OpenBlobStore } from '../../ports/blob-store.js';
import type { Engine } from '../../ports/engine.js';
import type { JobPage, JobPart, JobParts, RetentionPart } from '../../ports/job.js';
import type { StartableJob } from '../../temporal/jobs.js';
import { createQueueWorker } from '../../temporal/worker.js';
import { type Admission, membershipOf } from './admission.js';
import { settingsOf } from './domain.js';
import { keepWorking, WORKFLOW_BUNDLE } from './keep-working.js';

/** Beside the requests and sweeps of its process, the queue of all jobs runs a few pages at a time. */
const MAX_ACTIVITIES = 10;

/** The activities at once on a job's own queue: the page that runs, and an abandoned page that is ending. */
const MAX_ACTIVITIES_OF_OWN = 2;

/** Connections of a queue that a job has for itself: none is taken from the sweeps, requests and other jobs beside it. */
const CONNECTIONS_OF_OWN = 2;

/** The pages of a job that is cut off are idempotent and done again, so shutting down waits for nothing. */
const GRACE_MS = 0;

/** A job with the settings of its domain. */
export interface BoundJob {
  name: string;
  queue?: string | undefined;
  /** Null: the job is started by hand alone. */
  scheduled: ScheduledJob | null;
  create(parts: JobParts): Promise<JobPage> | JobPage;
}

function bindJob<Settings>(part: JobPart<Settings>, settings: Settings): BoundJob {
  const { name, queue } = part;
  const schedule = part.schedule?.(settings);
  return {
    name,
    queue,
    scheduled: schedule ? { name, queue, ...schedule } : null,
    create: (parts) => part.create(parts, settings),
  };
}

function bindKeeps<Settings>(parts: readonly RetentionPart<Settings>[], settings: Settings): Retained[] {
  return parts.map((part) => ({ part, keptMs: part.keptMs(settings) }));
}

/** Every job there is: the engine's own, and those of the domains. */
function jobsOf(config: Config): BoundJob[] {
  const retained = [
    ...bindKeeps(ENGINE_KEEPS, config.kept),
    ...DOMAINS.flatMap((domain) => bindKeeps(domain.keeps ?? [], settingsOf(config, domain))),
  ];
  return [
    bindJob(retentionJob(retained), config.schedules),
    ...DOMAINS.flatMap((domain) => (domain.jobs ?? []).map((part) => bindJob(part, settingsOf(config, domain)))),
  ];
}

function retentionJob(retained: readonly Retained[]): JobPart<{ retentionAt: string }> {
  return {
    name: RETENTION_JOB,
    schedule: ({ retentionAt }) => ({ when: { dailyAt: retentionAt }, input: {} }),
    create: ({ pool }) => createRetentionPage(pool, retained),
  };
}

export function scheduledJobsOf(config: Config): ScheduledJob[] {
  return jobsOf(config).flatMap(({ scheduled }) => scheduled ?? []);
}

/** The jobs that can be started by hand: all of them. */
export function startableJobsOf(config: Config): StartableJob[] {
  return jobsOf(config).map(({ name, queue }) => ({ name, queue }));
}

export interface JobWorkerParts {
  config: Config;
  /** The connections of the process. A job's own queue gets its own connections. */
  pool: pg.Pool;
  engine: Engine;
  pipelines: Readonly<Record<string, Pipeline>>;
  blobs: OpenBlobStore;
  /** As operators see it beside each run in the Temporal Web UI. */
  identity: string;
  logger: Logger;
  admission: Pick<Admission, 'name' | 'admitted'>;
}

/** Works on the queue of all jobs, and on the queues that jobs have for themselves, until `stop` is aborted. Each has a worker of
 *  its own: a job that hangs or floods delays nobody. A job that is switched off is worked on as well, because it can be started by
 *  hand, and a run of it may be on its way. */
export async function runJobs(parts: JobWorkerParts & { databaseUrl: string }, stop: AbortSignal): Promise<void> {
  const jobs = jobsOf(parts.config);
  const queues = new Set(jobs.flatMap(({ queue }) => queue ?? []));
  await Promise.all([
    keepWorking({ ...parts, name: JOBS_QUEUE }, (connection) => jobsWorkerOf(parts, connection), stop),
    ...[...queues].map((queue) =>
      runQueue(
        parts,
        jobs.filter((job) => job.queue === queue),
        stop,
      ),
    ),
  ]);
}

/** The queue of all jobs: the workflow `run-job`, and the pages of jobs that name no queue. */
export async function jobsWorkerOf(parts: JobWorkerParts, connection: NativeConnection): Promise<Worker> {
  const jobs = jobsOf(parts.config).filter(({ queue }) => queue === undefined);
  return createQueueWorker({
    ...(await workerPartsOf(parts, connection)),
    queue: JOBS_QUEUE,
    workflowBundle: WORKFLOW_BUNDLE,
    activities: { ...createExecutionActivities(parts.pool), ...(await pagesOf(parts, jobs)) },
    maxActivities: MAX_ACTIVITIES,
  });
}

async function runQueue(
  parts: JobWorkerParts & { databaseUrl: string },
  jobs: readonly BoundJob[],
  stop: AbortSignal,
): Promise<void> {
  const queue = jobQueueOf(jobs[0] ?? {});
  const pool = createPool({ url: parts.databaseUrl, size: CONNECTIONS_OF_OWN, name: queue });
  const create = async (connection: NativeConnection): Promise<Worker> =>
    createQueueWorker({
      ...(await workerPartsOf(parts, connection)),
      queue,
      activities: await pagesOf({ ...parts, pool }, jobs),
      maxActivities: MAX_ACTIVITIES_OF_OWN,
    });
  try {
    await keepWorking({ ...parts, name: queue }, create, stop);
  } finally {
    await pool.end();
  }
}

async function pagesOf({ pool, engine, pipelines, blobs, logger }: JobWorkerParts, jobs: readonly BoundJob[]) {
  const parts: JobParts = { pool, engine, pipelines, blobs, logger };
  const created = jobs.map(async (job) => [job.name, await job.create(parts)] as const);
  return createPageActivities({ pool, pages: Object.fromEntries(await Promise.all(created)), logger });
}

async function workerPartsOf({ config, identity, admission }: JobWorkerParts, connection: NativeConnection) {
  const membership = await membershipOf(admission);
  return { connection, namespace: config.temporal.namespace, identity, shutdownGraceMs: GRACE_MS, membership };
}
