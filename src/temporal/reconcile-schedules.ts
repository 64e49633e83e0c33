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
import { gt, valid } from 'semver';
import { type ForeignSchedule, INSTALLATION_MEMO, installationIn, nameIn } from '../core/installation.js';
import type { ScheduleRow, When } from '../core/schedules.js';
import { msOf } from '../core/span.js';
import { callUnlessAway } from './engine.js';
import { foreignScheduleOf } from './find-foreign-schedule.js';
import { callUnlessMissing } from './schedules.js';

/** This note tells our own pause from an operator's pause, which is left as it is. */
const OFF_NOTE = 'switched off by the configuration';

/** The time that a killed worker's workflow task costs. Temporal's default of 10 s is longer than the shortest sweep
 *  may take. */
const TASK_TIMEOUT_MS = 3_000;

/** Nobody waits for the reconciliation, and a schedule that was made a moment ago may take seconds to answer for the
 *  first time. */
const LIMIT_MS = 20_000;

/** Makes Temporal's schedules what this version says. Any number of processes may do so at once. Nothing is ever deleted, so that a
 *  restart, or an older version beside this one, takes no schedule away. Nor does a version overwrite a schedule that a newer one has
 *  written, because in a rolling upgrade the two would take turns. The version stands in the memo of the schedule's action: the
 *  SDK cannot change a schedule's own memo. Versions before this rule write no version, and overwrite; the next turn of this version
 *  writes the schedule again. The id of the installation stands there too. A schedule of another installation is left alone and
 *  returned. */
export async function reconcileSchedules(
  client: Client,
  rows: readonly ScheduleRow[],
  writer: Writer,
): Promise<ForeignSchedule | null> {
  for (const row of rows) {
    const foreign = await callUnlessAway(client, LIMIT_MS, () => reconcile(client, rowIn(row, writer)));
    if (foreign) return foreign;
  }
  return null;
}

/** The version that writes, and its installation. Without an installation, the program is alone in its namespace. */
export interface Writer {
  version: string;
  installation?: { name: string; id: string } | undefined;
}

type Row = ScheduleRow & { version: string; installation: string | undefined };

/** The row under the installation's name. Its queues have the name already. */
function rowIn(row: ScheduleRow, { version, installation }: Writer): Row {
  return { ...row, version, installation: installation?.id, id: nameIn(installation?.name ?? '', row.id) };
}

async function reconcile(client: Client, row: Row): Promise<ForeignSchedule | null> {
  const schedule = client.schedule.getHandle(row.id);
  const there = (await callUnlessMissing(() => schedule.describe())) ?? (row.isOn ? await create(client, row) : null);
  const foreign = there && foreignScheduleOf(there, row.installation);
  if (!there || foreign || isNewer(versionIn(there), row.version)) return foreign;
  if (differs(there, row) && !(await update(client, row))) return null;
  await switchOnOrOff(schedule, there, row.isOn);
  return null;
}

function isNewer(there: unknown, ours: string): boolean {
  return typeof there === 'string' && valid(there) !== null && valid(ours) !== null && gt(there, ours);
}

function versionIn({ action }: ScheduleDescription): unknown {
  return action.memo?.['version'];
}

class WrittenByAnother extends Error {}

/** Sends the conflict token, because the SDK does not, and a pause made meanwhile would be undone. Temporal ignores an outdated
 *  update; the next turn repeats it. False: a newer version, or another installation, has written the schedule since it was first
 *  read. */
async function update({ schedule: client }: Client, row: Row): Promise<boolean> {
  let conflictToken: Uint8Array | null = null;
  const service = client.workflowService;
  const updateSchedule = { value: (request: object) => service.updateSchedule({ ...request, conflictToken }) };
  const workflowService = { value: Object.create(service, { updateSchedule }) as unknown };
  const careful = Object.create(client, { workflowService }) as typeof client;
  try {
    await careful.getHandle(row.id).update((before) => {
      // Only by throwing does the SDK let go of an update that has begun.
      if (isNewer(versionIn(before), row.version) || foreignScheduleOf(before, row.installation)) {
        throw new WrittenByAnother();
      }
      conflictToken = before.raw.conflictToken ?? null;
      return { ...before, ...optionsOf(row) };
    });
    return true;
  } catch (error) {
    if (error instanceof WrittenByAnother) return false;
    throw error;
  }
}

/** Null: it is as it should be. */
async function create(client: Client, row: Row): Promise<ScheduleDescription | null> {
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

function optionsOf(row: Row): Pick<ScheduleOptions, 'spec' | 'action' | 'policies'> {
  return {
    spec: specOf(row.when),
    action: {
      type: 'startWorkflow',
      workflowType: row.workflow,
      workflowId: row.id,
      args: [row.input],
      taskQueue: row.taskQueue,
      ...timeoutOf(row),
      workflowTaskTimeout: TASK_TIMEOUT_MS,
      memo: { version: row.version, ...(row.installation !== undefined && { [INSTALLATION_MEMO]: row.installation }) },
    },
    policies: policiesOf(row),
  };
}

/** A job's run may continue as new, which begins the run timeout again: the whole of it must end before the next is due. */
function timeoutOf({ sweeps, runTimeoutMs }: ScheduleRow) {
  return sweeps === null ? { workflowExecutionTimeout: runTimeoutMs } : { workflowRunTimeout: runTimeoutMs };
}

function policiesOf({ catchUpMs }: ScheduleRow) {
  return { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: catchUpMs, pauseOnFailure: false };
}

function specOf(when: When): ScheduleOptions['spec'] {
  if ('every' in when) return { intervals: [{ every: msOf(when.every) }] };
  const [hour = 0, minute = 0] = when.dailyAt.split(':').map(Number);
  return { calendars: [{ hour, minute } satisfies CalendarSpec] };
}

function differs(there: ScheduleDescription, row: Row): boolean {
  const { action, policies, spec } = there;
  const { workflowType, taskQueue } = action;
  const args: unknown = action.args;
  const timeout: unknown = row.sweeps === null ? action.workflowExecutionTimeout : action.workflowRunTimeout;
  const memo = [versionIn(there), installationIn(action.memo)];
  const is = [workflowType, args, taskQueue, timeout, policies, timesIn(spec), memo];
  const { workflow, input, runTimeoutMs, version, installation } = row;
  const own = [version, installation];
  const should = [workflow, [input], row.taskQueue, runTimeoutMs, policiesOf(row), timesOf(row.when), own];
  return !isDeepStrictEqual(is, should);
}

/** The times in Temporal's answer, in the form of `timesOf`. Any other form counts as a difference. */
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
