import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';

/** What the server heeds when it hands out what waits. `unknown`: it could not be measured. */
export type Turns = 'turns' | 'levels' | 'none' | 'unknown';

/** More than a poll can take from one of the four partitions that a queue has by default, so that a server without levels hands out
 *  nothing but these. */
const MANY = 24;
const FEW = 4;
const POLLS = 8;

/** Until the tasks that were put first stand in the queue. A server needs some milliseconds. */
const SETTLE_MS = 500;

/** A poll of a queue that has tasks is answered at once. The server refuses a poll with much less time than this. */
const POLL_LIMIT_MS = 4_000;

/** Puts tasks of one owner, of another owner, and of a higher level into a queue that nobody polls, in this order, and looks which come
 *  first. The queue's name begins with `prefix`. The runs are deleted afterwards. */
export async function measureTurns(client: Client, prefix: string): Promise<Turns> {
  const queue = `${prefix}-${randomUUID()}`;
  const ids: string[] = [];
  const put = async (kind: string, count: number, priorityKey: number, fairnessKey: string): Promise<void> => {
    const some = Array.from({ length: count }, (_, n) => `${queue}:${kind}:${n}`);
    ids.push(...some);
    const priority = { priorityKey, fairnessKey };
    const options = { taskQueue: queue, priority, workflowExecutionTimeout: '1m' } as const;
    await Promise.all(some.map((workflowId) => client.workflow.start('doctor-turns', { ...options, workflowId })));
    await delay(SETTLE_MS);
  };
  try {
    await put('first', MANY, 3, 'a');
    await put('second', FEW, 3, 'b');
    await put('urgent', FEW, 1, 'a');
    const seen = await poll(client, queue);
    return verdictOf(seen);
  } finally {
    await Promise.allSettled(ids.map((workflowId) => forget(client, workflowId)));
  }
}

async function poll(client: Client, queue: string): Promise<string[]> {
  const { connection, workflowService } = client;
  const { namespace } = client.options;
  const seen: string[] = [];
  for (let n = 0; n < POLLS; n += 1) {
    const task = await connection.withDeadline(Date.now() + POLL_LIMIT_MS, () =>
      workflowService.pollWorkflowTaskQueue({ namespace, taskQueue: { name: queue }, identity: 'doctor' }),
    );
    const kind = task.workflowExecution?.workflowId?.split(':')[1];
    if (!kind) break;
    seen.push(kind);
  }
  return seen;
}

/** One task of a kind may come early by chance, out of a partition of its own. */
function verdictOf(seen: readonly string[]): Turns {
  const count = (kind: string): number => seen.filter((each) => each === kind).length;
  if (seen.length < POLLS || count('urgent') === 1) return 'unknown';
  if (count('urgent') === 0) return 'none';
  return count('second') > 0 ? 'turns' : 'levels';
}

async function forget(client: Client, workflowId: string): Promise<void> {
  const { namespace } = client.options;
  await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId } });
}
