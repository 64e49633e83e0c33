import type { Pipeline } from './pipeline.js';
import { msOf, type Span } from './span.js';

/** When a schedule fires: again and again, or daily at a time of day in UTC such as `04:00`. */
export type When = { every: Span } | { dailyAt: string };

/** Sweeps and clean-up share `maintenance`; each of the others has a queue of its own, so that none of them can starve
 *  recovery, or each other, however slow or many they are. */
export const BACKGROUND_QUEUES = ['stats', 'discovery', 'enrichment'] as const;
export type BackgroundQueue = (typeof BACKGROUND_QUEUES)[number];
export type ScheduleQueue = 'maintenance' | BackgroundQueue;

export interface ScheduleRow {
  /** Also the name of its job executions. */
  id: string;
  when: When;
  /** The workflow's type and its one argument. */
  workflow: string;
  input: Readonly<Record<string, string | number>>;
  taskQueue: ScheduleQueue;
  runTimeoutMs: number;
  catchUpMs: number;
  isOn: boolean;
  /** The pipeline that it sweeps; null: it is no sweep. */
  sweeps: string | null;
}

export interface ScheduleSettings {
  /** Ids that an operator has switched off. */
  off: readonly string[];
  retentionAt: string;
  /** Rescues in one sweep: after an outage all items must not be started at once. */
  rescuesPerSweep: number;
  statsEvery: Span;
  /** The keyword of packages that are looked at; null: none are. At most so many versions are examined in one run. */
  discovery: { every: Span; keyword: string | null; perRun: number };
  enrichment: { every: Span; isOn: boolean; perRun: number };
}

const DAY_MS = msOf('1d');

/** Below the interval, so that a run that hangs is over when the next one is due and is not skipped in its favour. */
const TIMEOUT_SHARE = 0.9;

/** No job takes longer; a daily one that does hangs. */
const MAX_RUN_TIMEOUT_MS = msOf('1h');

/** Temporal's own least; a run that is later than that is not worth catching up with, the next one does its work. */
const CATCH_UP_MS = 10_000;

/** A daily run is worth catching up with for as long as a restart of Temporal may take. */
const DAILY_CATCH_UP_MS = msOf('1h');

/** Every schedule there is. A new one is one line here. */
export function schedulesOf(
  pipelines: Readonly<Record<string, Pipeline>>,
  { off, retentionAt, rescuesPerSweep, statsEvery, discovery, enrichment }: ScheduleSettings,
): ScheduleRow[] {
  const rows: Declared[] = [
    ...Object.values(pipelines).map(({ name, sweep }) => ({
      id: sweepIdOf(name),
      when: { every: sweep.every },
      workflow: 'sweep',
      input: { pipeline: name, rescues: rescuesPerSweep },
      sweeps: name,
    })),
    { id: 'retention', when: { dailyAt: retentionAt }, workflow: 'retention', input: {} },
    { id: 'stats-refresh', when: { every: statsEvery }, workflow: 'stats-refresh', input: {}, taskQueue: 'stats' },
    {
      id: 'discover-npm',
      when: { every: discovery.every },
      workflow: 'discover-npm',
      input: { keyword: discovery.keyword ?? '', perRun: discovery.perRun },
      taskQueue: 'discovery',
      isConfigured: discovery.keyword !== null,
    },
    {
      id: 'enrich-skills',
      when: { every: enrichment.every },
      workflow: 'enrich-skills',
      input: { perRun: enrichment.perRun },
      taskQueue: 'enrichment',
      isConfigured: enrichment.isOn,
    },
  ];
  return rows.map(({ isConfigured = true, ...row }) => completed(row, isConfigured && !off.includes(row.id)));
}

export function sweepIdOf(pipeline: string): string {
  return `sweep-${pipeline}`;
}

export function intervalMsOf(when: When): number {
  return 'every' in when ? msOf(when.every) : DAY_MS;
}

type Row = Pick<ScheduleRow, 'id' | 'when' | 'workflow' | 'input'> & Partial<Pick<ScheduleRow, 'taskQueue' | 'sweeps'>>;

/** What is not configured is switched off. */
type Declared = Row & { isConfigured?: boolean };

function completed(row: Row, isOn: boolean): ScheduleRow {
  return {
    taskQueue: 'maintenance',
    sweeps: null,
    ...row,
    runTimeoutMs: Math.min(Math.round(intervalMsOf(row.when) * TIMEOUT_SHARE), MAX_RUN_TIMEOUT_MS),
    catchUpMs: 'every' in row.when ? CATCH_UP_MS : DAILY_CATCH_UP_MS,
    isOn,
  };
}
