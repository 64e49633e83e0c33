import { z } from 'zod';
import { Degraded } from '../items/degraded.js';

const Time = z.iso.datetime();

const State = z.object({
  nextAt: Time.nullable(),
  lastAt: Time.nullable().describe('When it last started a run, asked for by hand or not'),
  running: z.array(z.string()).describe('Workflow ids of the runs that go on'),
  paused: z.object({ why: z.string().nullable() }).nullable(),
  actions: z.int().describe('Runs it started'),
  skipped: z.int().describe('Runs left out because the one before went on'),
  missed: z.int().describe('Runs that came due while Temporal was away'),
});

const Execution = z.object({
  id: z.string(),
  status: z.enum(['running', 'completed', 'failed', 'aborted']),
  key: z.string().describe('Of a run that somebody started by hand; empty: a schedule started it'),
  startedAt: Time,
  endedAt: Time.nullable(),
  runs: z.int().describe('Runs in a row that found nothing share one row'),
  result: z.record(z.string(), z.unknown()).describe('The counts of the job; of a running job, after its last page'),
  phases: z.record(z.string(), z.number()).describe('Milliseconds by phase'),
  errors: z.array(z.string()),
  costCents: z.number(),
});

export const ScheduleAnswer = z
  .object({
    id: z.string(),
    every: z.string().optional(),
    dailyAt: z.string().optional().describe('UTC'),
    workflow: z.string(),
    taskQueue: z.string(),
    runTimeoutMs: z.int(),
    on: z.boolean().describe('False: switched off by the configuration'),
    inTemporal: z.boolean().nullable().describe('Null: Temporal does not answer'),
    state: State.nullable().describe('Null: not known, or not there'),
    lastExecution: Execution.nullable(),
  })
  .meta({ id: 'Schedule' });
export type ScheduleAnswer = z.output<typeof ScheduleAnswer>;

export const SchedulesAnswer = z.object({
  degraded: Degraded,
  schedules: z.array(ScheduleAnswer),
});
