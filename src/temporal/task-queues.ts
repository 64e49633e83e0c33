/** Each pipeline has one task queue, named after it. */
export function taskQueueOf(pipeline: string): string {
  return pipeline;
}
