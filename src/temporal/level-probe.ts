import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { AppError } from '../core/errors.js';

const WORKFLOW_QUEUE = proto.temporal.api.enums.v1.TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW;

/** The level that a probe is started with. A server without levels counts it at the default level. */
const PROBE_LEVEL = 1;
const DEFAULT_LEVEL = 3;

/** A server repeats its first answer about a queue for five seconds, also when the run was not yet in the queue. So the server is asked
 *  once about each probe, and each probe waits longer for its question than the one before. All of them take a second and a quarter. */
const LOOK_AFTER_MS = [10, 20, 40, 80, 160, 320, 640];

/** The run ends by itself if nobody deletes it. */
const PROBE_TIMEOUT = '1m';

/** The setting of a server seldom changes. */
const KNOWN_FOR_MS = 60_000;

/** A server that did not say is asked again sooner. */
const UNKNOWN_FOR_MS = 5_000;

/** Asks the server whether it hands out what waits by priority, once for all who ask within a minute. It is quicker than `measureTurns`,
 *  which the doctor uses, because it reads what the server says of its queues. That tells nothing of turns. */
export function createLevelProbe(client: Client, prefix: string): () => Promise<boolean> {
  let last: { until: number; answer: Promise<boolean> } | undefined;
  return () => {
    if (last && performance.now() < last.until) return last.answer;
    const asked = { until: performance.now() + UNKNOWN_FOR_MS, answer: heedsPriorities(client, prefix) };
    asked.answer.then(
      () => (asked.until = performance.now() + KNOWN_FOR_MS),
      () => undefined,
    );
    last = asked;
    return asked.answer;
  };
}

/** Puts runs into queues that nobody polls, whose names begin with `prefix`, and asks at which level they wait. */
async function heedsPriorities(client: Client, prefix: string): Promise<boolean> {
  for (const lookAfterMs of LOOK_AFTER_MS) {
    const level = await probeLevel(client, `${prefix}:${randomUUID()}`, lookAfterMs);
    if (level !== null) return level === PROBE_LEVEL;
  }
  throw new AppError('engine_unavailable', 'Temporal does not say whether it knows priorities');
}

/** The level at which a run waits that was started with PROBE_LEVEL. Null: the server does not see it wait. */
async function probeLevel(client: Client, name: string, lookAfterMs: number): Promise<number | null> {
  const { namespace } = client.options;
  await client.workflow.start('level-probe', {
    ...{ workflowId: name, taskQueue: name, workflowExecutionTimeout: PROBE_TIMEOUT },
    priority: { priorityKey: PROBE_LEVEL },
  });
  try {
    await delay(lookAfterMs);
    const { stats, statsByPriorityKey } = await client.workflowService.describeTaskQueue({
      ...{ namespace, taskQueue: { name }, taskQueueType: WORKFLOW_QUEUE, reportStats: true },
    });
    const filled = Object.entries(statsByPriorityKey ?? {}).find(([, level]) => hasBacklog(level));
    if (filled) return Number(filled[0]);
    // A server that is older than levels has one figure for all.
    return hasBacklog(stats) ? DEFAULT_LEVEL : null;
  } finally {
    // A namespace may forbid deletions. The run then ends by its timeout.
    const workflowExecution = { workflowId: name };
    await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution }).catch(() => undefined);
  }
}

function hasBacklog(stats: proto.temporal.api.taskqueue.v1.ITaskQueueStats | null | undefined): boolean {
  return Number(stats?.approximateBacklogCount ?? 0) > 0;
}
