import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Step } from '../../src/core/step.js';
import { workflowBundle } from '../support/bundle.js';
import { openMaintenance, type Maintenance } from '../support/maintenance.js';
import { RECORDED_JOBS } from '../support/recorded-jobs.js';
import { RECORDED_RUNS } from '../support/recorded-runs.js';
import { eventsOf, type HistoryEvent, listRecordings, record, type Recording } from '../support/recording.js';
import { replay } from '../support/replay.js';
import { openStack, type Stack } from '../support/worker.js';

/** Set by scripts/record-histories.ts. */
const isRecording = process.env['RECORD_HISTORIES'] !== undefined;

if (isRecording) {
  describe('recording runs', recordAll);
  describe('recording jobs', recordJobs);
} else {
  describe('a run that is on its way while the workflow changes', replayAll);
  describe('the recorded histories', coverAll);
}

function recordAll(): void {
  let stack: Stack;
  beforeAll(async () => {
    stack = await openStack();
  });
  afterAll(() => stack.close());

  it.each(Object.entries(RECORDED_RUNS))('%s', async (name, play) => {
    await record(stack.temporal.client, name, await play(stack));
  });
}

function recordJobs(): void {
  let maintenance: Maintenance;
  beforeAll(async () => {
    maintenance = await openMaintenance();
  });
  afterAll(() => maintenance.close());

  it.each(Object.entries(RECORDED_JOBS))('%s', async (name, play) => {
    await record(maintenance.client, name, { workflowId: await play(maintenance) });
  });
}

function replayAll(): void {
  it('has a recorded history for every way through the workflow', () => {
    const recorded = new Set(listRecordings().map(({ name }) => name.replace(/-\d+$/, '')));
    expect([...recorded].sort()).toEqual(Object.keys({ ...RECORDED_RUNS, ...RECORDED_JOBS }).sort());
  });

  it('is replayed without a difference', async () => {
    expect(await replay(listRecordings(), await workflowBundle())).toEqual({});
  });

  it('is replayed without a difference where a version before priorities was told a level', async () => {
    const told = listRecordings().map((each) => ({ ...each, history: withLevels(each.history) }));
    expect(JSON.stringify(told)).not.toBe(JSON.stringify(listRecordings()));
    expect(await replay(told, await workflowBundle())).toEqual({});
  });

  it('is seen to break where there is one', async () => {
    const broken = listRecordings()
      .filter(({ name }) => name === 'plain')
      .map((each) => ({
        ...each,
        history: JSON.parse(JSON.stringify(each.history).replaceAll('"check"', '"chuck"')) as unknown,
      }));

    expect(Object.keys(await replay(broken, await workflowBundle()))).toEqual(['plain']);
  });
}

/** Each branch of run-item, and how a history shows that it was taken. */
const BRANCHES: Record<string, (seen: Seen) => boolean> = {
  'a stage': ({ steps }) => steps.some((step) => step.do === 'stage' && !step.short),
  'a short stage': ({ steps, types }) =>
    steps.some((step) => step.do === 'stage' && step.short) && types.includes('MARKER_RECORDED'),
  'units, fewer at once than there are': ({ steps }) =>
    steps.some((step) => step.do === 'units' && step.width < step.units.length),
  'units, no more than may run at once': ({ steps }) =>
    steps.some((step) => step.do === 'units' && step.width >= step.units.length),
  'units stopped by a hold': ({ steps, types }) =>
    steps.some((step) => step.do === 'units') && types.includes('TIMER_STARTED'),
  'a stage tried again': ({ events }) =>
    events.some(
      (each) => Number((each['activityTaskStartedEventAttributes'] as { attempt?: number } | undefined)?.attempt) > 1,
    ),
  'asking the row': ({ scheduled }) => scheduled.includes('nextStep'),
  'a wait without end': ({ steps, types }) =>
    steps.some((step) => step.do === 'wait' && step.forMs === null) && types.includes('WORKFLOW_EXECUTION_SIGNALED'),
  'a wait cut short by a wake': ({ types }) =>
    types.includes('TIMER_CANCELED') && types.includes('WORKFLOW_EXECUTION_SIGNALED'),
  'a wait to its end': ({ types }) => types.includes('TIMER_FIRED'),
  'continuing as new': ({ types }) => types.at(-1) === 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW',
  'the end: final': ({ steps }) => steps.some((step) => step.do === 'end' && step.why === 'final'),
  'the end: left': ({ steps, scheduled }) =>
    steps.some((step) => step.do === 'end' && step.why === 'left') && scheduled.at(-1) === 'endRun',
  'the end: superseded': ({ steps }) => steps.some((step) => step.do === 'end' && step.why === 'superseded'),
  'cancelled in a stage': ({ types, scheduled }) =>
    types.at(-1) === 'WORKFLOW_EXECUTION_CANCELED' && scheduled.join() === 'read,endRun',
  'cancelled in units': ({ types, scheduled }) =>
    types.at(-1) === 'WORKFLOW_EXECUTION_CANCELED' && scheduled.includes('upload') && scheduled.at(-1) === 'endRun',
  'cancelled in a wait': ({ types, steps, scheduled }) =>
    types.at(-1) === 'WORKFLOW_EXECUTION_CANCELED' &&
    steps.some((step) => step.do === 'wait') &&
    scheduled.at(-1) === 'endRun',
};

/** Each way through run-job. */
const WAYS_OF_JOBS: Record<string, (seen: Seen) => boolean> = {
  'several pages': ({ scheduled }) => scheduled.filter((each) => each === 'runPage').length > 1,
  'a wait for its pace': ({ types, scheduled }) => scheduled.includes('runPage') && types.includes('TIMER_FIRED'),
  'time that is up': ({ events, scheduled }) =>
    scheduled.includes('runPage') &&
    events.flatMap(payloadsIn).some((each) => isRecord(each) && isRecord(each['goesOn'])),
  'continuing as new': ({ types, scheduled }) =>
    scheduled.includes('runPage') && types.at(-1) === 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW',
  'a run that was continued': ({ types, scheduled }) =>
    scheduled[0] === 'runPage' && types.at(-1) === 'WORKFLOW_EXECUTION_COMPLETED',
  'a page that fails': ({ types, scheduled }) =>
    scheduled.includes('runPage') && scheduled.at(-1) === 'endJob' && types.at(-1) === 'WORKFLOW_EXECUTION_FAILED',
  'an abort': ({ types, scheduled }) =>
    scheduled.includes('runPage') && scheduled.at(-1) === 'endJob' && types.at(-1) === 'WORKFLOW_EXECUTION_CANCELED',
};

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

interface Seen {
  events: HistoryEvent[];
  types: string[];
  scheduled: string[];
  /** Every step that the run was started with or told. */
  steps: Step[];
}

function seenIn(recording: Recording): Seen {
  const events = eventsOf(recording);
  return {
    events,
    types: events.map(({ eventType }) => eventType.replace('EVENT_TYPE_', '')),
    scheduled: events.flatMap(
      (each) =>
        (each['activityTaskScheduledEventAttributes'] as { activityType: { name: string } } | undefined)?.activityType
          .name ?? [],
    ),
    steps: events.flatMap((each) => payloadsIn(each)).flatMap(stepsIn),
  };
}

/** The history as it is where the database told every step's level to a worker that knows none, so that no activity has one. */
function withLevels(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withLevels);
  if (!isRecord(value)) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withLevels(each)]));
  const { data } = copy;
  const json = typeof data === 'string' ? parsed(data) : undefined;
  if (!isRecord(json) || (json['do'] !== 'stage' && json['do'] !== 'units')) return copy;
  return { ...copy, data: Buffer.from(JSON.stringify({ ...json, priorityKey: 1 })).toString('base64') };
}

/** Payloads hold their JSON in base 64, wherever in an event they stand. */
function payloadsIn(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  if ('data' in value && typeof value.data === 'string') return [parsed(value.data)];
  return Object.values(value).flatMap(payloadsIn);
}

function parsed(base64: string): unknown {
  try {
    return JSON.parse(Buffer.from(base64, 'base64').toString()) as unknown;
  } catch {
    return undefined; // not every payload is JSON
  }
}

function stepsIn(value: unknown): Step[] {
  if (typeof value !== 'object' || value === null) return [];
  return 'do' in value ? [value as Step] : Object.values(value).flatMap(stepsIn);
}

function coverAll(): void {
  const seen = listRecordings().map(seenIn);

  it.each(Object.entries(WAYS_OF_JOBS))('cover %s of a job', (_, isTaken) => {
    expect(seen.some(isTaken)).toBe(true);
  });

  it.each(Object.entries(BRANCHES))('cover %s', (_, isTaken) => {
    expect(seen.some(isTaken)).toBe(true);
  });

  it('cover every kind of step', () => {
    const kinds = new Set(seen.flatMap(({ steps }) => steps.map((step) => step.do)));
    const all: Record<Step['do'], true> = { stage: true, units: true, wait: true, next: true, end: true };
    expect([...kinds].sort()).toEqual(Object.keys(all).sort());
  });
}
