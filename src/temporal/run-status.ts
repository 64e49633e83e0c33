import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import proto from '@temporalio/proto';
import { type RunRef, workflowIdOf } from '../core/run.js';
import type { RunStatus } from '../ports/engine.js';

/** A workflow task that is tried for the third time fails for a reason that time does not heal. */
const WEDGED_ATTEMPTS = 3;

/** Events at the end of a history that are looked through for the failure. */
const LATEST_EVENTS = 10;

const { EventType } = proto.temporal.api.enums.v1;

export async function describeRun(client: Client, run: RunRef): Promise<RunStatus> {
  try {
    const { status, raw } = await client.workflow.getHandle(workflowIdOf(run)).describe();
    if (status.name !== 'RUNNING') return { is: 'gone', how: status.name.toLowerCase() };
    const attempt = raw.pendingWorkflowTask?.attempt ?? 0;
    return { is: 'alive', wedgedBy: attempt < WEDGED_ATTEMPTS ? null : await latestFailure(client, run) };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { is: 'gone', how: 'never_existed' };
    throw error;
  }
}

/** Why the run's workflow tasks fail. Null: they time out instead, for want of a worker that answers. */
async function latestFailure(client: Client, run: RunRef): Promise<string | null> {
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: client.options.namespace,
    execution: { workflowId: workflowIdOf(run) },
    maximumPageSize: LATEST_EVENTS,
  });
  const failed = history?.events?.find((event) => event.eventType === EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED);
  return failed?.workflowTaskFailedEventAttributes?.failure?.message ?? null;
}
