import type { Client } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { tsToMs } from '@temporalio/common/lib/time.js';
import proto from '@temporalio/proto';
import { type RunRef, workflowIdOf } from '../../src/core/run.js';

type Event = proto.temporal.api.history.v1.IHistoryEvent;

const { EventType } = proto.temporal.api.enums.v1;

/** What Temporal wrote about a run, as the tests ask about it. */
export interface RunHistory {
  runId: string;
  types: string[];
  /** The activities that were scheduled, by name, in order; local ones are not among them. */
  scheduled: string[];
  /** How long Temporal waits before it tries each of them for the second time, and at most before any time. */
  retriesMs: (readonly [number, number])[];
  /** The levels that they were scheduled with; null: the level of the run. */
  levels: (number | null)[];
  /** Local activities that ended, as markers tell. */
  local: number;
  /** Why workflow tasks failed: a non-determinism error would be here. */
  taskFailures: string[];
  json: unknown;
}

/** A run of an item, or any other workflow. */
export type Named = RunRef | { workflowId: string };

export function idOf(named: Named): string {
  return 'workflowId' in named ? named.workflowId : workflowIdOf(named);
}

/** The latest execution of a run, or the one named. */
export async function historyOf(client: Client, run: Named, runId?: string): Promise<RunHistory> {
  const handle = client.workflow.getHandle(idOf(run), runId);
  const history = await handle.fetchHistory();
  const events = history.events ?? [];
  return {
    runId: startedRunId(events),
    types: events.map(typeOf),
    scheduled: events.flatMap((each) => each.activityTaskScheduledEventAttributes?.activityType?.name ?? []),
    retriesMs: events.flatMap((each) => {
      const { initialInterval, maximumInterval } = each.activityTaskScheduledEventAttributes?.retryPolicy ?? {};
      return initialInterval && maximumInterval ? [[tsToMs(initialInterval), tsToMs(maximumInterval)] as const] : [];
    }),
    levels: events.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled ? [scheduled.priority?.priorityKey ?? null] : [],
    ),
    local: events.filter((each) => each.markerRecordedEventAttributes?.markerName === 'core_local_activity').length,
    taskFailures: events.flatMap((each) => failureOf(each) ?? []),
    json: JSON.parse(historyToJSON(history)) as unknown,
  };
}

/** Every execution of a run from its first to its last: continuing as new makes another. */
export async function executionsOf(client: Client, run: Named): Promise<RunHistory[]> {
  const latest = await historyOf(client, run);
  const chain = [latest];
  for (let before = continuedFrom(latest); before; before = continuedFrom(chain[0])) {
    chain.unshift(await historyOf(client, run, before));
  }
  return chain;
}

function continuedFrom(history: RunHistory | undefined): string | undefined {
  const { events } = history?.json as {
    events: { workflowExecutionStartedEventAttributes?: { continuedExecutionRunId?: string } }[];
  };
  return events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined;
}

function startedRunId(events: Event[]): string {
  return events[0]?.workflowExecutionStartedEventAttributes?.originalExecutionRunId ?? '';
}

function typeOf(event: Event): string {
  return EventType[event.eventType ?? 0]?.replace('EVENT_TYPE_', '') ?? 'UNKNOWN';
}

/** A workflow task that timed out because its worker was killed is no fault of the workflow's. */
function failureOf(event: Event): string | undefined {
  const failed = event.workflowTaskFailedEventAttributes;
  return failed ? (failed.failure?.message ?? 'without a message') : undefined;
}
