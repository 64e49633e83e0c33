import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';

const WORKFLOW_QUEUE = proto.temporal.api.enums.v1.TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW;

/** The level that a probe is started with. A server without levels counts it at the default level. */
const PROBE_LEVEL = 1;

/** A server repeats its first answer about a queue for five seconds, also when the run was not yet in the queue. So the server is asked
 *  once about each probe, and later after each. Together a second and a quarter. */
const LOOK_AFTER_MS = [10, 20, 40, 80, 160, 320, 640];

/** The run ends by itself if nobody deletes it. */
const PROBE_TIMEOUT = '1m';

/** Whether the server hands out what waits by priority. Runs are put into queues that nobody polls, whose names begin with `prefix`, and
 *  the server is asked at which level they wait. Null: the server does not say. */
export async function heedsPriorities(client: Client, prefix: string): Promise<boolean | null> {
  for (const lookAfterMs of LOOK_AFTER_MS) {
    const level = await probeLevel(client, `${prefix}:${randomUUID()}`, lookAfterMs);
    if (level !== null) return level === PROBE_LEVEL;
  }
  return null;
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
    const { statsByPriorityKey } = await client.workflowService.describeTaskQueue({
      ...{ namespace, taskQueue: { name }, taskQueueType: WORKFLOW_QUEUE, reportStats: true },
    });
    const filled = Object.entries(statsByPriorityKey ?? {}).find(
      ([, stats]) => Number(stats.approximateBacklogCount) > 0,
    );
    return filled ? Number(filled[0]) : null;
  } finally {
    await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId: name } });
  }
}
