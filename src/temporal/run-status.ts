import { type Client, type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client';
import proto from '@temporalio/proto';
import { isForeign } from '../core/installation.js';
import type { RunStatus } from '../ports/engine.js';

/** A workflow task that has failed twice fails for a reason that does not go away with time. */
const WEDGED_FAILURES = 2;

/** The number of events at the end of a history that are searched for failures: enough for several failures and the
 *  wakes between them. */
const LATEST_EVENTS = 50;

/** A failure may hold the message of anything that was thrown. This is more than anybody reads of it. */
const FAILURE_SHOWN = 2_000;

/** The length of a history whose first workflow task runs or still waits. No workflow task of it can have failed. */
const FIRST_EVENTS = 3;

const { EventType } = proto.temporal.api.enums.v1;
type PendingTask = proto.temporal.api.workflow.v1.IPendingWorkflowTaskInfo;

/** A run of another installation under this id does not walk our item, so ours is gone. */
export async function describeRun(client: Client, run: WorkflowHandle, own: string | undefined): Promise<RunStatus> {
  try {
    const { status, raw, historyLength, memo } = await run.describe();
    if (isForeign(memo, own)) return { is: 'gone', how: 'foreign' };
    if (status.name !== 'RUNNING') return { is: 'gone', how: status.name.toLowerCase() };
    const task = raw.pendingWorkflowTask;
    // Most runs in a backlog are at their first workflow task, so they need no second question.
    const mayFail = task && historyLength > FIRST_EVENTS;
    return { is: 'alive', wedgedBy: mayFail ? await failureOf(client, run, task) : null };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { is: 'gone', how: 'never_existed' };
    throw error;
  }
}

/** Why the run's workflow tasks fail again and again. Null: they do not fail, or they time out because no worker
 *  answers. Each signal restarts the count of attempts, and history holds only the first failure of each count, so both
 *  are looked at: either alone would miss failures. */
async function failureOf(
  client: Client,
  { workflowId }: WorkflowHandle,
  { attempt }: PendingTask,
): Promise<string | null> {
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: client.options.namespace,
    execution: { workflowId },
    maximumPageSize: LATEST_EVENTS,
  });
  const events = history?.events ?? [];
  const completed = events.findIndex(({ eventType }) => eventType === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED);
  const since = completed === -1 ? events : events.slice(0, completed);
  const failed = since.flatMap((event) => event.workflowTaskFailedEventAttributes ?? []);
  const [latest] = failed;
  if (!latest || Math.max(failed.length, (attempt ?? 0) - 1) < WEDGED_FAILURES) return null;
  return latest.failure?.message?.slice(0, FAILURE_SHOWN) ?? null;
}
