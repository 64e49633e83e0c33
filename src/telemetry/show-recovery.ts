import { REASONS } from '../core/diagnosis.js';
import type { QueueFigures, RecoveryFigures } from '../core/recovery-figures.js';
import type { Metrics } from './metrics.js';

/** Facts of the tables and schedules: the stages, whose queue is empty when no figure was read for it, and how often
 *  each pipeline is to be swept. */
export interface Declared {
  stages: readonly { pipeline: string; stage: string }[];
  sweeps: readonly { pipeline: string; everySeconds: number }[];
}

/** The counts of a sweep that is older than two intervals say nothing about now. */
const INTERVALS = 2;

/** Shows the figures of recovery of this scrape. Null: they could not be read, so the series are left out. */
export function showRecovery(metrics: Metrics, figures: RecoveryFigures | null, declared: Declared): void {
  resetRecovery(metrics);
  for (const { pipeline, everySeconds } of declared.sweeps) metrics.sweepInterval.set({ pipeline }, everySeconds);
  if (figures === null) {
    metrics.scrapeFailed.set(1);
    return;
  }
  for (const labels of declared.stages) metrics.queueDepth.set({ ...labels }, 0);
  for (const { count, ...labels } of figures.queued) metrics.queueDepth.set(labels, count);
  for (const { count, ...labels } of figures.recoveries) metrics.recoveries.set(labels, count);
  for (const { pipeline, rate } of figures.failureRates) metrics.failureRate.set({ pipeline }, rate);
  for (const { pipeline, count } of figures.parked) metrics.parked.set({ pipeline }, count);
  for (const { pipeline, running, waiting, deaths } of figures.isolated) {
    metrics.isolatedStages.set({ pipeline, status: 'running' }, running);
    metrics.isolatedStages.set({ pipeline, status: 'waiting' }, waiting);
    metrics.isolatedDeaths.set({ pipeline }, deaths);
  }
  for (const each of figures.sweeps) {
    showSweep(metrics, each, declared.sweeps.find(({ pipeline }) => pipeline === each.pipeline)?.everySeconds);
  }
  for (const { schedule, skipped, missed } of figures.leftOut) {
    metrics.leftOutRuns.inc({ schedule, why: 'skipped' }, skipped);
    metrics.leftOutRuns.inc({ schedule, why: 'missed' }, missed);
  }
}

function showSweep(metrics: Metrics, sweep: RecoveryFigures['sweeps'][number], everySeconds = 0): void {
  const { pipeline, ageSeconds, durationSeconds, examined, stuck } = sweep;
  metrics.sweepAge.set({ pipeline }, ageSeconds);
  metrics.sweepDuration.set({ pipeline }, durationSeconds);
  if (examined !== null) metrics.sweepExamined.set({ pipeline }, examined);
  if (stuck === null || ageSeconds > INTERVALS * everySeconds) return;
  for (const reason of REASONS) metrics.stuck.set({ pipeline, reason }, stuck[reason] ?? 0);
}

function resetRecovery(metrics: Metrics): void {
  const { queueDepth, recoveries, failureRate, parked, isolatedStages, isolatedDeaths } = metrics;
  const { sweepInterval, sweepAge, sweepDuration, sweepExamined, stuck, leftOutRuns } = metrics;
  for (const each of [queueDepth, recoveries, failureRate, parked, isolatedStages, isolatedDeaths]) each.reset();
  for (const each of [sweepInterval, sweepAge, sweepDuration, sweepExamined, stuck, leftOutRuns]) each.reset();
}

/** Shows Temporal's answers about its task queues. A queue without an answer is left out. */
export function showQueues(metrics: Metrics, isThere: boolean, queues: readonly QueueFigures[]): void {
  metrics.temporalReachable.set(isThere ? 1 : 0);
  metrics.taskQueueBacklog.reset();
  metrics.taskQueuePollers.reset();
  for (const { queue, backlog, pollers } of queues) {
    if (backlog != null) metrics.taskQueueBacklog.set({ queue }, backlog);
    if (pollers !== undefined) metrics.taskQueuePollers.set({ queue }, pollers);
  }
}
