import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { createExecutionActivities, createPageActivities } from '../../src/activities/job-runner.js';
import { createMaintenanceActivities } from '../../src/activities/maintenance/activities.js';
import { JOBS_QUEUE } from '../../src/core/jobs.js';
import { MAINTENANCE_QUEUE, type ScheduleRow } from '../../src/core/schedules.js';
import type { SweepActivities, SweepPage } from '../../src/core/sweep-page.js';
import type { Kept } from '../../src/db/recovery/retention.js';
import type { JobPage } from '../../src/ports/job.js';
import { createQueueWorker } from '../../src/temporal/worker.js';
import { pino } from 'pino';
import { inject, vi } from 'vitest';
import { createNamespace } from '../start/parts.js';
import { workflowBundle } from './bundle.js';
import { installRuntime } from './runtime.js';
import { openSpine, type Spine } from './spine.js';
import { until } from './until.js';
import type { TestWorker } from './worker.js';

/** A schedule takes its time to start, and two cores are shared. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 90_000 });

type SweepPageOf = SweepActivities['sweepPage'];

/** A database and a namespace of its own, so that schedules and task queues are nobody else's. */
export interface Maintenance extends Spine {
  namespace: string;
  client: Client;
  work(options?: { sweepPage?: SweepPageOf; activities?: object }): Promise<TestWorker>;
  /** Works on jobs: on run-job itself, and on the pages of the queue that is named. */
  workJobs(pages: Readonly<Record<string, JobPage>>, options?: JobWorkOptions): Promise<TestWorker>;
  /** Runs a workflow as a schedule would and waits for its end; its id. */
  play(workflow: string, input: object, options?: PlayOptions): Promise<string>;
  jobs(job: string): Promise<JobRow[]>;
}

export interface JobWorkOptions {
  /** Of the pages; without it they are on the queue of all jobs. */
  queue?: string;
  /** How long a page may work. */
  pageMs?: number;
}

export interface PlayOptions {
  runTimeoutMs?: number;
  memo?: Record<string, string>;
  onStart?(workflowId: string): Promise<void>;
}

export interface JobRow {
  status: string;
  runs: number;
  result: Record<string, unknown>;
  phases: Record<string, number>;
  errors: string[];
  key: string;
  runId: string;
  costCents: number;
}

const DAY_MS = 86_400_000;
export const KEPT: Kept = {
  hourlyMetricsMs: 2 * DAY_MS,
  dailyMetricsMs: 800 * DAY_MS,
  jobExecutionsMs: 30 * DAY_MS,
  notificationsMs: 30 * DAY_MS,
  receiptsMs: 90 * DAY_MS,
  workersMs: 7 * DAY_MS,
};

export async function openMaintenance(): Promise<Maintenance> {
  installRuntime();
  const [spine, namespace] = await Promise.all([openSpine(), createNamespace()]);
  const { client } = namespace;
  const workers = new Set<TestWorker>();
  // The server takes some seconds to know a new namespace.
  await until('the namespace is known', async () => {
    const listed = client.schedule.list()[Symbol.asyncIterator]();
    return listed.next().then(
      () => true,
      () => false,
    );
  });

  async function work(options: { sweepPage?: SweepPageOf; activities?: object } = {}): Promise<TestWorker> {
    const { sweepPage = async () => pageOf({ isLast: true }), activities = {} } = options;
    const own = createMaintenanceActivities({ pool: spine.limited, sweepPage });
    return startWorker(MAINTENANCE_QUEUE, { ...own, ...activities });
  }

  async function workJobs(
    pages: Readonly<Record<string, JobPage>>,
    { queue = JOBS_QUEUE, pageMs = 60_000 }: JobWorkOptions = {},
  ): Promise<TestWorker> {
    const pool = spine.limited;
    const page = createPageActivities({ pool, pages, logger: pino({ level: 'silent' }), pageMs });
    const execution = createExecutionActivities(pool);
    if (queue === JOBS_QUEUE) return startWorker(JOBS_QUEUE, { ...execution, ...page });
    const workers = [await startWorker(JOBS_QUEUE, execution), await startWorker(queue, page, { isPlain: true })];
    const stop = async (): Promise<void> => void (await Promise.all(workers.map((each) => each.stop())));
    return { id: queue, stop };
  }

  async function startWorker(queue: string, activities: object, { isPlain = false } = {}): Promise<TestWorker> {
    const id = `${queue}-${randomUUID().slice(0, 8)}`;
    const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
    const worker = await createQueueWorker({
      queue,
      connection,
      namespace: namespace.name,
      identity: id,
      ...(!isPlain && { workflowBundle: await workflowBundle() }),
      activities,
      maxActivities: 10,
      shutdownGraceMs: 0,
    });
    const running = worker.run();
    const testWorker: TestWorker = {
      id,
      async stop() {
        workers.delete(testWorker);
        if (worker.getState() === 'RUNNING') worker.shutdown();
        await running;
        await connection.close();
      },
    };
    workers.add(testWorker);
    return testWorker;
  }

  async function play(workflow: string, input: object, options: PlayOptions = {}): Promise<string> {
    const workflowId = `${workflow}-${randomUUID()}`;
    const handle = await client.workflow.start(workflow, {
      workflowId,
      taskQueue: workflow === 'run-job' ? JOBS_QUEUE : MAINTENANCE_QUEUE,
      args: [input],
      ...(options.memo && { memo: options.memo }),
      ...(workflow === 'run-job'
        ? { workflowExecutionTimeout: options.runTimeoutMs ?? 60_000 }
        : { workflowRunTimeout: options.runTimeoutMs ?? 60_000 }),
    });
    await options.onStart?.(workflowId);
    // How it ended is for the test to ask.
    await handle.result().catch(() => undefined);
    return workflowId;
  }

  async function jobs(job: string): Promise<JobRow[]> {
    const { rows } = await spine.pool.query<JobRow>(
      `SELECT status, runs, result, phases, errors, join_key AS key, run_id AS "runId", cost_cents AS "costCents"
       FROM job_executions WHERE job = $1 ORDER BY id`,
      [job],
    );
    return rows;
  }

  async function close(): Promise<void> {
    await Promise.all([...workers].map((each) => each.stop()));
    // A schedule that is left would go on firing into the shared server.
    for await (const { scheduleId } of client.schedule.list()) await client.schedule.getHandle(scheduleId).delete();
    await namespace.close();
    await spine.close();
  }
  return { ...spine, namespace: namespace.name, client, work, workJobs, play, jobs, close };
}

/** A page that saw nothing, but for what is given. */
export function pageOf(seen: Partial<SweepPage>): SweepPage {
  return {
    examined: 0,
    isLast: false,
    totalStuck: 0,
    reEnqueued: 0,
    permanentlyFailed: 0,
    parked: 0,
    endedRuns: 0,
    reported: 0,
    stuckMsTotal: 0,
    byStatus: {},
    errors: [],
    ...seen,
  };
}

type SweepRow = Extract<ScheduleRow, { workflow: 'sweep' }>;

export function rowOf(id: string, more: Partial<SweepRow> = {}): SweepRow {
  return {
    id,
    when: { every: '1h' },
    workflow: 'sweep',
    input: { pipeline: 'straight', rescues: 10 },
    taskQueue: 'maintenance',
    runTimeoutMs: 50_000,
    catchUpMs: 10_000,
    isOn: true,
    sweeps: 'straight',
    ...more,
  };
}
