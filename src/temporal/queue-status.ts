import type { Client } from '@temporalio/client';
import { tsToDate, tsToMs } from '@temporalio/common/lib/time.js';
import proto from '@temporalio/proto';
import type { QueueStatus } from '../ports/engine.js';

const { TaskQueueType } = proto.temporal.api.enums.v1;
const KINDS = [TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY];

/** Workflow tasks and activity tasks wait in two queues of one name. A worker polls both. */
export async function queueStatus(client: Client, queue: string): Promise<QueueStatus> {
  const answers = await Promise.all(
    KINDS.map((taskQueueType) =>
      client.workflowService.describeTaskQueue({
        namespace: client.options.namespace,
        taskQueue: { name: queue },
        taskQueueType,
        reportStats: true,
      }),
    ),
  );
  const pollers = answers.flatMap((each) => each.pollers ?? []);
  const stats = answers.flatMap((each) => each.stats ?? []);
  return {
    pollers: pollers.flatMap(({ identity, lastAccessTime }) =>
      identity && lastAccessTime ? [{ identity, seenAt: tsToDate(lastAccessTime) }] : [],
    ),
    backlog: sumOf(stats.map((each) => each.approximateBacklogCount?.toNumber())),
    oldestMs: stats.length === 0 ? null : Math.max(...stats.map((each) => tsToMs(each.approximateBacklogAge ?? {}))),
  };
}

/** One unknown count makes the sum unknown. */
function sumOf(counts: readonly (number | undefined)[]): number | null {
  if (counts.length === 0) return null;
  return counts.reduce<number | null>((sum, each) => (sum === null || each === undefined ? null : sum + each), 0);
}
