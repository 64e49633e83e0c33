import {
  type Client,
  type ScheduleHandle,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { AppError } from '../core/errors.js';
import { type Membership, NO_MEMBERSHIP, nameIn } from '../core/installation.js';
import type { ScheduleRow } from '../core/schedules.js';
import type { Schedules, ScheduleStatus } from '../ports/schedules.js';
import { CALL_LIMIT_MS, callUnlessAway } from './engine.js';

/** To describe a schedule, Temporal asks the schedule's own workflow, which on a busy server answers after seconds. */
export const DESCRIBE_LIMIT_MS = 10_000;

export function createTemporalSchedules(
  client: Client,
  rows: readonly ScheduleRow[],
  own: Membership = NO_MEMBERSHIP,
): Schedules {
  const change = (id: string, act: (schedule: ScheduleHandle) => Promise<void>, limitMs = CALL_LIMIT_MS) =>
    changeSchedule(client, own, { id, act, limitMs });
  return {
    rows,
    find: (id) => callUnlessAway(client, DESCRIBE_LIMIT_MS, () => find(client, nameIn(own.name, id))),
    // By default the SDK would start a second run beside the first, of which the schedule does not even know.
    trigger: (id) => change(id, (schedule) => schedule.trigger(ScheduleOverlapPolicy.SKIP)),
    abort: (id) => change(id, (schedule) => abortRuns(client, schedule), DESCRIBE_LIMIT_MS),
    pause: (id, why) => change(id, (schedule) => schedule.pause(why)),
    resume: (id, why) => change(id, (schedule) => schedule.unpause(why)),
  };
}

async function find(client: Client, id: string): Promise<ScheduleStatus | null> {
  const found = await callUnlessMissing(() => client.schedule.getHandle(id).describe());
  if (!found) return null;
  const { state, info } = found;
  return {
    nextAt: info.nextActionTimes[0] ?? null,
    lastAt: info.recentActions.at(-1)?.takenAt ?? null,
    running: info.runningActions.map(({ workflow }) => workflow.workflowId),
    paused: state.paused ? { why: state.note ?? null } : null,
    actions: info.numActionsTaken,
    skipped: info.numActionsSkippedOverlap,
    missed: info.numActionsMissedCatchupWindow,
    createdAt: info.createdAt,
  };
}

async function abortRuns(client: Client, schedule: ScheduleHandle): Promise<void> {
  const { info } = await schedule.describe();
  for (const { workflow } of info.runningActions) {
    const { workflowId, firstExecutionRunId } = workflow;
    try {
      await client.workflow.getHandle(workflowId, undefined, { firstExecutionRunId }).cancel();
    } catch (error) {
      // The run has ended by itself, which a schedule learns a moment later.
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }
}

interface Change {
  id: string;
  act(schedule: ScheduleHandle): Promise<void>;
  limitMs: number;
}

async function changeSchedule(client: Client, own: Membership, { id, act, limitMs }: Change): Promise<void> {
  const isDone = await callUnlessAway(client, limitMs, () =>
    callUnlessMissing(async () => {
      own.id();
      await act(client.schedule.getHandle(nameIn(own.name, id)));
      return true;
    }),
  );
  if (!isDone) throw new AppError('not_found', `Temporal has no schedule ${id}; the API makes it when it starts`);
}

export async function callUnlessMissing<T>(call: () => Promise<T>): Promise<T | null> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  }
}
