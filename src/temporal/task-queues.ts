/** One task queue per pipeline, named like it. */
export function taskQueueOf(pipeline: string): string {
  return pipeline;
}

/** Recovery and clean-up, apart from the pipelines' work: it must not wait behind what it is to rescue. */
export const MAINTENANCE = 'maintenance';
