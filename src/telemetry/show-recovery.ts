import type { QueueFigures, RecoveryFigures } from '../core/recovery-figures.js';
import type { Metrics } from './metrics.js';

/** Shows what was read of recovery just now. Null, not readable: the series are left out. `stages` names those that are known
 *  to have an empty queue when nothing was read of them. */
export function showRecovery(
  metrics: Metrics,
  figures: RecoveryFigures | null,
  stages: readonly { pipeline: string; stage: string }[],
): void {
  metrics.queueDepth.reset();
  metrics.recoveries.reset();
  metrics.stageAttempts.reset();
  metrics.stageDuration.reset();
  metrics.failureRate.reset();
  metrics.parked.reset();
  if (figures === null) {
    metrics.scrapeFailed.set(1);
    return;
  }
  for (const labels of stages) metrics.queueDepth.set({ ...labels }, 0);
  for (const { count, ...labels } of figures.queued) metrics.queueDepth.set(labels, count);
  for (const { count, ...labels } of figures.recoveries) metrics.recoveries.set(labels, count);
  for (const { count, medianSeconds, p95Seconds, ...labels } of figures.attempts) {
    metrics.stageAttempts.set(labels, count);
    metrics.stageDuration.set({ ...labels, quantile: '0.5' }, medianSeconds);
    metrics.stageDuration.set({ ...labels, quantile: '0.95' }, p95Seconds);
  }
  for (const { pipeline, rate } of figures.failureRates) metrics.failureRate.set({ pipeline }, rate);
  for (const { pipeline, count } of figures.parked) metrics.parked.set({ pipeline }, count);
}

/** Shows what Temporal said of its task queues; a queue that it did not answer for is left out. */
export function showQueues(metrics: Metrics, isThere: boolean, queues: readonly QueueFigures[]): void {
  metrics.temporalReachable.set(isThere ? 1 : 0);
  metrics.taskQueueBacklog.reset();
  metrics.taskQueuePollers.reset();
  for (const { queue, backlog, pollers } of queues) {
    if (backlog != null) metrics.taskQueueBacklog.set({ queue }, backlog);
    if (pollers !== undefined) metrics.taskQueuePollers.set({ queue }, pollers);
  }
}
