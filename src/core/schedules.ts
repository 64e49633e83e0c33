import { type JobInput, JOBS_QUEUE, jobQueueOf, type RunJobInput } from './jobs.js';
import type { Pipeline } from './pipeline.js';
import { msOf, type Span } from './span.js';

/** When a schedule fires: again and again, or daily at a time of day in UTC such as `04:00`. */
export type When = { every: Span } | { dailyAt: string };

/** The task queue of sweeps alone, so that no job delays recovery, however slow or many jobs are. */
export const MAINTENANCE_QUEUE = 'maintenance';

export interface SweepInput {
  pipeline: string;
  /** How many items the sweep may rescue; the next sweep goes on with the others. */
  rescues: number;
}

interface AnyRow {
  /** Also the name of its job executions. */
  id: string;
  when: When;
  taskQueue: string;
  runTimeoutMs: number;
  catchUpMs: number;
  isOn: boolean;
}

/** A schedule starts sweeps of a pipeline, or runs of a job (`sweeps` is null). */
export type ScheduleRow = AnyRow &
  (
    | { workflow: 'sweep'; input: Readonly<SweepInput>; sweeps: string }
    | { workflow: 'run-job'; input: Readonly<RunJobInput>; sweeps: null }
  );

/** The facts of a job that its schedule needs. */
export interface ScheduledJob {
  name: string;
  /** The queue that the job names. Without it, the job's pages run on the queue of all jobs. */
  queue?: string | undefined;
  when: When;
  input: JobInput;
  /** Things a second at most. */
  perSecond?: number | undefined;
  /** False: the job is not configured, and its schedule is switched off. */
  isOn?: boolean | undefined;
}

export interface ScheduleSettings {
  /** Ids that an operator has switched off. */
  off: readonly string[];
}

const DAY_MS = msOf('1d');

/** Below the interval, so that a run that hangs is over when the next one is due and is not skipped in its favour. */
const TIMEOUT_SHARE = 0.9;

/** The longest time of one run. A daily job that needs more continues in its next run. */
const MAX_RUN_TIMEOUT_MS = msOf('1h');

/** Temporal's minimum. A run that is later is skipped, because the next run does its work. */
const CATCH_UP_MS = 10_000;

/** A daily run is worth catching up with for as long as a restart of Temporal may take. */
const DAILY_CATCH_UP_MS = msOf('1h');

/** Workers of version 0.1 rescue so many items in one sweep. Remove it when no such worker can run beside this version. */
const RESCUES_OF_OLDER_WORKERS = 100;

/** Every schedule there is: a sweep for each pipeline, and the jobs that have a schedule. */
export function schedulesOf(
  pipelines: Readonly<Record<string, Pipeline>>,
  jobs: readonly ScheduledJob[],
  { off }: ScheduleSettings,
): ScheduleRow[] {
  const isOn = (id: string): boolean => !off.includes(id);
  return [
    ...Object.values(pipelines).map(({ name, sweep }): ScheduleRow => {
      const when = { every: sweep.every };
      const input = { pipeline: name, rescues: RESCUES_OF_OLDER_WORKERS };
      const id = sweepIdOf(name);
      const timing = { id, when, ...timesOf(when), isOn: isOn(id) };
      return { ...timing, taskQueue: MAINTENANCE_QUEUE, workflow: 'sweep', input, sweeps: name };
    }),
    ...jobs.map((job): ScheduleRow => {
      const { name: id, when } = job;
      const timing = { id, when, ...timesOf(when), isOn: isOn(id) && job.isOn !== false };
      return { ...timing, taskQueue: JOBS_QUEUE, workflow: 'run-job', input: runInputOf(job), sweeps: null };
    }),
  ];
}

function runInputOf({ name, queue, input, perSecond }: ScheduledJob): RunJobInput {
  return { job: name, queue: jobQueueOf({ queue }), key: '', input, ...(perSecond !== undefined && { perSecond }) };
}

export function sweepIdOf(pipeline: string): string {
  return `sweep-${pipeline}`;
}

export function intervalMsOf(when: When): number {
  return 'every' in when ? msOf(when.every) : DAY_MS;
}

function timesOf(when: When): { runTimeoutMs: number; catchUpMs: number } {
  return {
    runTimeoutMs: Math.min(Math.round(intervalMsOf(when) * TIMEOUT_SHARE), MAX_RUN_TIMEOUT_MS),
    catchUpMs: 'every' in when ? CATCH_UP_MS : DAILY_CATCH_UP_MS,
  };
}
