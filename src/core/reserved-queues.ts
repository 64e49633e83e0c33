import { JOBS_QUEUE } from './jobs.js';
import { MAINTENANCE_QUEUE } from './schedules.js';

/** The task queues of the workflows in src/workflows/retired.ts, besides `maintenance`. To be removed with these workflows. */
export const RETIRED_QUEUES = ['stats', 'discovery', 'enrichment'] as const;

/** A pipeline's task queue has the pipeline's name. On one of these queues, workers of the engine would take its tasks. */
export function isReservedQueue(name: string): boolean {
  const reserved: readonly string[] = [MAINTENANCE_QUEUE, JOBS_QUEUE, ...RETIRED_QUEUES];
  return reserved.includes(name) || name.startsWith(`${JOBS_QUEUE}-`);
}
