import { type Client, type ScheduleHandle, ScheduleNotFoundError, ScheduleOverlapPolicy } from '@temporalio/client';
import { AppError } from '../core/errors.js';
import type { ScheduleRow } from '../core/schedules.js';
import type { Schedules, ScheduleStatus } from '../ports/schedules.js';
import { CALL_LIMIT_MS, unlessAway } from './engine.js';

/** To describe a schedule, Temporal asks the schedule's own workflow, which on a busy server answers after seconds. */
export const DESCRIBE_LIMIT_MS = 10_000;

export function createTemporalSchedules(client: Client, rows: readonly ScheduleRow[]): Schedules {
  return {
    rows,
    find: (id) => unlessAway(client, DESCRIBE_LIMIT_MS, () => find(client, id)),
    // By default the SDK would start a second one beside it, which the schedule does not even know of.
    trigger: (id) => change(client, id, (schedule) => schedule.trigger(ScheduleOverlapPolicy.SKIP)),
    pause: (id, why) => change(client, id, (schedule) => schedule.pause(why)),
    resume: (id, why) => change(client, id, (schedule) => schedule.unpause(why)),
  };
}

async function find(client: Client, id: string): Promise<ScheduleStatus | null> {
  const found = await unlessMissing(() => client.schedule.getHandle(id).describe());
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

async function change(client: Client, id: string, act: (schedule: ScheduleHandle) => Promise<void>): Promise<void> {
  const isDone = await unlessAway(client, CALL_LIMIT_MS, () =>
    unlessMissing(async () => {
      await act(client.schedule.getHandle(id));
      return true;
    }),
  );
  if (!isDone) throw new AppError('not_found', `Temporal has no schedule ${id}; the API makes it when it starts`);
}

export async function unlessMissing<T>(call: () => Promise<T>): Promise<T | null> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  }
}
