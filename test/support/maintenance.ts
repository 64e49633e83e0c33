import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { createMaintenanceActivities } from '../../src/activities/maintenance/activities.js';
import type { ScheduleRow } from '../../src/core/schedules.js';
import type { SweepActivities, SweepPage } from '../../src/core/sweep-page.js';
import type { Kept } from '../../src/db/recovery/retention.js';
import { createJobWorker } from '../../src/temporal/worker.js';
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

/** A database and a namespace of its own, so that schedules and the task queue `maintenance` are nobody else's. */
export interface Maintenance extends Spine {
  namespace: string;
  client: Client;
  work(options?: { sweepPage?: SweepPageOf; activities?: object }): Promise<TestWorker>;
  /** Runs a workflow as a schedule would and waits for its end; its id. */
  play(workflow: string, input: object, options?: PlayOptions): Promise<string>;
  jobs(job: string): Promise<JobRow[]>;
}

export interface PlayOptions {
  runTimeoutMs?: number;
  onStart?(workflowId: string): Promise<void>;
}

export interface JobRow {
  status: string;
  runs: number;
  result: Record<string, unknown>;
  phases: Record<string, number>;
  errors: string[];
}

const DAY_MS = 86_400_000;
export const KEPT: Kept = {
  hourlyMetricsMs: 2 * DAY_MS,
  jobExecutionsMs: 30 * DAY_MS,
  notificationsMs: 30 * DAY_MS,
  receiptsMs: 90 * DAY_MS,
  workersMs: 7 * DAY_MS,
  skillContentsMs: 90 * DAY_MS,
  discoveredPackagesMs: 90 * DAY_MS,
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
    const id = `maintenance-${randomUUID().slice(0, 8)}`;
    const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
    const { sweepPage = async () => pageOf({ isLast: true }), activities = {} } = options;
    const worker = await createJobWorker({
      queue: 'maintenance',
      connection,
      namespace: namespace.name,
      identity: id,
      workflowBundle: await workflowBundle(),
      activities: { ...createMaintenanceActivities({ pool: spine.limited, kept: KEPT, sweepPage }), ...activities },
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
      taskQueue: 'maintenance',
      args: [input],
      workflowRunTimeout: options.runTimeoutMs ?? 60_000,
    });
    await options.onStart?.(workflowId);
    // How it ended is for the test to ask.
    await handle.result().catch(() => undefined);
    return workflowId;
  }

  async function jobs(job: string): Promise<JobRow[]> {
    const { rows } = await spine.pool.query<JobRow>(
      'SELECT status, runs, result, phases, errors FROM job_executions WHERE job = $1 ORDER BY id',
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
  return { ...spine, namespace: namespace.name, client, work, play, jobs, close };
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

export function rowOf(id: string, more: Partial<ScheduleRow> = {}): ScheduleRow {
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
