import { type NativeConnection, Worker } from '@temporalio/worker';
import { nameIn } from '../core/installation.js';
import { refuseForeignTasks, type WorkerMembership } from './refuse-foreign-tasks.js';
import { taskQueueOf } from './task-queues.js';

export interface WorkerOptions {
  connection: NativeConnection;
  namespace: string;
  /** As operators see it beside each attempt in the Temporal Web UI. */
  identity: string;
  workflowBundle: { codePath: string };
  activities: object;
  maxActivities: number;
  shutdownGraceMs: number;
  /** Left out: the program is alone in its namespace. */
  membership?: WorkerMembership;
}

/** After a worker's death the next workflow task waits for its sticky queue this long; the default of 10 s would be felt. */
const STICKY_TIMEOUT_MS = 1_000;

/** The SDK holds heartbeats back for 0.8 of the timeout; ours are one a second already and should be seen as they come. */
const HEARTBEAT_THROTTLE_MS = 500;

/** A frozen worker's open polls still take tasks, and each one taken waits for a timeout. Two are as fast as the SDK's ten on
 *  the machines we know (most tasks come with the answer to another), and swallow a fifth. */
const OPEN_POLLS = 2;

/** Cached runs are replayed when they come back; a few hundred hold what two cores can have in flight. */
const MAX_CACHED_RUNS = 500;

/** A stage that does not stop by then is left to its fence. */
const FORCE_AFTER_GRACE_MS = 5_000;

export function createItemWorker({ pipeline, ...options }: WorkerOptions & { pipeline: string }): Promise<Worker> {
  return createWorker(options, taskQueueOf(pipeline));
}

/** For sweeps and jobs. Without a bundle it polls for activities alone. */
export function createQueueWorker({ queue, ...options }: QueueWorkerOptions): Promise<Worker> {
  return createWorker(options, queue);
}

export type QueueWorkerOptions = ActivityOptions & { queue: string; workflowBundle?: { codePath: string } };

type ActivityOptions = Omit<WorkerOptions, 'workflowBundle'>;

function createWorker(options: ActivityOptions & Partial<WorkerOptions>, queue: string): Promise<Worker> {
  const { membership } = options;
  return Worker.create({
    connection: options.connection,
    namespace: options.namespace,
    taskQueue: nameIn(membership?.name ?? '', queue),
    ...(membership && { interceptors: { activity: [refuseForeignTasks(membership)] } }),
    identity: options.identity,
    ...(options.workflowBundle && { workflowBundle: options.workflowBundle }),
    activities: options.activities,
    maxConcurrentActivityTaskExecutions: options.maxActivities,
    maxConcurrentLocalActivityExecutions: options.maxActivities,
    maxConcurrentActivityTaskPolls: OPEN_POLLS,
    maxConcurrentWorkflowTaskPolls: OPEN_POLLS,
    maxCachedWorkflows: MAX_CACHED_RUNS,
    stickyQueueScheduleToStartTimeout: STICKY_TIMEOUT_MS,
    maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE_MS,
    defaultHeartbeatThrottleInterval: HEARTBEAT_THROTTLE_MS,
    shutdownGraceTime: options.shutdownGraceMs,
    shutdownForceTime: options.shutdownGraceMs + FORCE_AFTER_GRACE_MS,
  });
}
