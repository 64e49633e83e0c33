import { isDeepStrictEqual } from 'node:util';
import {
  type CalendarSpec,
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  type ScheduleHandle,
  type ScheduleOptions,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import type { ScheduleRow, When } from '../core/schedules.js';
import { msOf } from '../core/span.js';
import { unlessAway } from './engine.js';
import { unlessMissing } from './schedules.js';

/** By this note we know a pause of ours from an operator's, which is left as it is. */
const OFF_NOTE = 'switched off by the configuration';

/** What a killed worker's workflow task costs; Temporal's own 10 s are longer than the shortest sweep may take. */
const TASK_TIMEOUT_MS = 3_000;

/** Nobody waits for it, and a schedule that was made a moment ago may take seconds to answer for the first time. */
const LIMIT_MS = 20_000;

/** Makes Temporal's schedules what the registry says. Any number of processes may do so at once; nothing is ever deleted, so
 *  that a restart, or an older version beside this one, takes no schedule away. */
export async function reconcileSchedules(client: Client, rows: readonly ScheduleRow[]): Promise<void> {
  for (const row of rows) await unlessAway(client, LIMIT_MS, () => reconcile(client, row));
}

async function reconcile(client: Client, row: ScheduleRow): Promise<void> {
  const schedule = client.schedule.getHandle(row.id);
  const there = (await unlessMissing(() => schedule.describe())) ?? (row.isOn ? await create(client, row) : null);
  if (!there) return;
  if (differs(there, row)) await update(client, row);
  await switchOnOrOff(schedule, there, row.isOn);
}

/** Writes the whole schedule, and only if nobody has changed it since it was read, which the SDK by itself does not ask for: a
 *  pause of that moment would be undone. What comes too late is dropped by Temporal without a word, and made again by the
 *  next turn. */
async function update({ schedule: client }: Client, row: ScheduleRow): Promise<void> {
  let conflictToken: Uint8Array | null = null;
  const service = client.workflowService;
  const updateSchedule = { value: (request: object) => service.updateSchedule({ ...request, conflictToken }) };
  const workflowService = { value: Object.create(service, { updateSchedule }) as unknown };
  const careful = Object.create(client, { workflowService }) as typeof client;
  await careful.getHandle(row.id).update((before) => {
    conflictToken = before.raw.conflictToken ?? null;
    return { ...before, ...optionsOf(row) };
  });
}

/** Null: it is as it should be. */
async function create(client: Client, row: ScheduleRow): Promise<ScheduleDescription | null> {
  try {
    await client.schedule.create({ scheduleId: row.id, ...optionsOf(row) });
    return null;
  } catch (error) {
    // Another process was faster, perhaps of another version.
    if (error instanceof ScheduleAlreadyRunning) return client.schedule.getHandle(row.id).describe();
    throw error;
  }
}

async function switchOnOrOff(schedule: ScheduleHandle, { state }: ScheduleDescription, isOn: boolean): Promise<void> {
  if (!isOn && !state.paused) await schedule.pause(OFF_NOTE);
  if (isOn && state.paused && state.note === OFF_NOTE) await schedule.unpause('switched on by the configuration');
}

function optionsOf(row: ScheduleRow): Pick<ScheduleOptions, 'spec' | 'action' | 'policies'> {
  return {
    spec: specOf(row.when),
    action: {
      type: 'startWorkflow',
      workflowType: row.workflow,
      workflowId: row.id,
      args: [row.input],
      taskQueue: row.taskQueue,
      workflowRunTimeout: row.runTimeoutMs,
      workflowTaskTimeout: TASK_TIMEOUT_MS,
    },
    policies: policiesOf(row),
  };
}

function policiesOf({ catchUpMs }: ScheduleRow) {
  return { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: catchUpMs, pauseOnFailure: false };
}

function specOf(when: When): ScheduleOptions['spec'] {
  if ('every' in when) return { intervals: [{ every: msOf(when.every) }] };
  const [hour = 0, minute = 0] = when.dailyAt.split(':').map(Number);
  return { calendars: [{ hour, minute } satisfies CalendarSpec] };
}

function differs(there: ScheduleDescription, row: ScheduleRow): boolean {
  const { action, policies, spec } = there;
  const { workflowType, taskQueue } = action;
  const args: unknown = action.args;
  const timeout: unknown = action.workflowRunTimeout;
  const is = [workflowType, args, taskQueue, timeout, policies, timesIn(spec)];
  const should = [row.workflow, [row.input], row.taskQueue, row.runTimeoutMs, policiesOf(row), timesOf(row.when)];
  return !isDeepStrictEqual(is, should);
}

/** What Temporal answers, as `timesOf` would say it; anything else is a difference. */
function timesIn({ intervals, calendars }: ScheduleDescription['spec']): unknown {
  const [interval] = intervals ?? [];
  if (interval) return [interval.every, calendars?.length ?? 0];
  const [calendar] = calendars ?? [];
  return [calendar?.hour[0]?.start, calendar?.minute[0]?.start, calendars?.length];
}

function timesOf(when: When): unknown {
  if ('every' in when) return [msOf(when.every), 0];
  return [...when.dailyAt.split(':').map(Number), 1];
}
