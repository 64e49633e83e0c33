/** One task queue per pipeline, named like it. */
export function taskQueueOf(pipeline: string): string {
  return pipeline;
}
