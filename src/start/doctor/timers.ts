import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import proto from '@temporalio/proto';
import { giveUpAfter } from '../../api/items/engine-health.js';
import { messageOf } from '../../core/errors.js';
import { nameIn } from '../../core/installation.js';
import { type Finding, type Patient, reportOk, reportWarning } from './check.js';

const { EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, EVENT_TYPE_WORKFLOW_TASK_SCHEDULED } =
  proto.temporal.api.enums.v1.EventType;

/** Shorter than the second for which a server waits by default, so that most of that second shows. */
const DELAY_MS = 100;

/** Between the 0.8 s of a server with the default and the few milliseconds of a server with the setting. */
const LATE_MS = 400;

/** A busy machine delays one timer or two. Only a setting delays each of three. */
const TIMERS = 3;

/** Room for four timers of a server with the default, and shorter than the limit of a check, so that this check words the finding. */
const WITHIN_MS = 4_000;

const LOOK_EVERY_MS = 50;

/** A look takes milliseconds. With less time than this the next look might not be answered, and nothing would be known. */
const LAST_LOOK_MS = 500;

/** The doctor terminates the run that it timed, still within the limit of a check. Should it be killed, Temporal ends the run. */
const END_WITHIN_MS = 500;
const RUN_TIMEOUT_MS = 60_000;

/** How late a timer was. A timer that did not fire is at least so late. */
export interface Lateness {
  ms: number;
  hasFired: boolean;
}

/** Times timers of Temporal one after the other until one is on time. */
export async function checkTimers({ config, temporal }: Patient): Promise<Finding> {
  const taskQueue = nameIn(config.installation, 'doctor-timers');
  // One workflow id for all, because the server keeps the timers of different workflows apart.
  const run: TimedRun = { taskQueue, workflowId: `${taskQueue}:${randomUUID()}`, deadline: Date.now() + WITHIN_MS };
  const timed: Lateness[] = [];
  async function timeUntilOneIsOnTime(): Promise<void> {
    // A server that was idle fires its first timer on time, whatever its setting, so that timer counts only if it does not fire.
    let last = await timeOnce(temporal, run);
    if (!last.hasFired) timed.push(last);
    while (last.hasFired && timed.length < TIMERS && timed.every(isLate)) {
      last = await timeOnce(temporal, run);
      timed.push(last);
    }
  }
  try {
    await giveUpAfter(WITHIN_MS + END_WITHIN_MS, timeUntilOneIsOnTime());
  } catch (error) {
    if (timed.length === 0) return unknownFinding(messageOf(error));
  }
  return timersFinding(timed, config.temporal.address === undefined);
}

function isLate({ ms }: Lateness): boolean {
  return ms > LATE_MS;
}

/** The timer that was least late counts, because a busy machine can delay a timer and nothing fires one early. A timer that the doctor
 *  could not wait for says nothing. */
export function timersFinding(timed: readonly Lateness[], isEmbedded: boolean): Finding {
  const known = timed.filter((each) => each.hasFired || isLate(each));
  const [best] = known.toSorted((one, other) => one.ms - other.ms);
  if (!best) return unknownFinding('there was no time for it');
  if (!isLate(best)) return reportOk(`A timer of Temporal was ${best.ms} ms late.`);
  const late = `${best.hasFired ? '' : 'at least '}${(best.ms / 1_000).toFixed(1)} s`;
  return reportWarning(
    `Timers of Temporal are ${late} late, and so is the work that another worker takes over from a dead one.`,
    isEmbedded
      ? 'Restart npm start, which gives its server the setting for it; if that does not help, the machine is overloaded.'
      : 'Set history.timerProcessorMaxTimeShift of the server to 50ms; docs/operations.md, "A Temporal server of your own", says how.',
  );
}

function unknownFinding(why: string): Finding {
  return reportWarning(
    `Whether the timers of Temporal are late is not known (${why}).`,
    'Run the doctor again; it must be allowed to start and to terminate a workflow.',
  );
}

interface TimedRun {
  taskQueue: string;
  workflowId: string;
  deadline: number;
}

/** Nobody polls the queue and no pipeline has this workflow type, so the run does nothing but wait for its timer. Both times are the
 *  server's own. */
async function timeOnce({ connection, workflow }: Client, { deadline, ...names }: TimedRun): Promise<Lateness> {
  const times = { startDelay: DELAY_MS, workflowExecutionTimeout: RUN_TIMEOUT_MS };
  const handle = await connection.withDeadline(deadline, () => workflow.start('doctor-timer', { ...names, ...times }));
  const startedAt = Date.now();
  try {
    for (;;) {
      const lookedAt = Date.now();
      const firedMs = firedAfter(await connection.withDeadline(deadline, () => handle.fetchHistory()));
      if (firedMs !== null) return { ms: Math.max(0, Math.round(firedMs - DELAY_MS)), hasFired: true };
      if (lookedAt + LAST_LOOK_MS > deadline) return { ms: lookedAt - startedAt - DELAY_MS, hasFired: false };
      await pause(LOOK_EVERY_MS);
    }
  } finally {
    const end = (): Promise<unknown> => handle.terminate('the doctor has timed it');
    await connection.withDeadline(Date.now() + END_WITHIN_MS, end).catch(() => undefined);
  }
}

/** Milliseconds from the start of the run until its first task was there. Null: it is not there yet. */
function firedAfter({ events }: History): number | null {
  const timeOf = (type: number) => events?.find(({ eventType }) => Number(eventType) === type)?.eventTime;
  const [started, scheduled] = [
    timeOf(EVENT_TYPE_WORKFLOW_EXECUTION_STARTED),
    timeOf(EVENT_TYPE_WORKFLOW_TASK_SCHEDULED),
  ];
  return started && scheduled ? tsToMs(scheduled) - tsToMs(started) : null;
}
