/** The activities of the workflows in src/workflows/retired.ts. They do nothing, so that a run which was on its way
 *  when this version took over ends. `run-job` does their work now. To be removed with these workflows. */
export function createRetiredActivities() {
  return {
    retainBatch: async () => ({ count: 0, isLast: true }),
    refreshAggregate: async () => undefined,
    discoverPage: async () => ({ seen: 0, examined: 0, byOutcome: {}, submitted: 0, errors: [], next: null }),
    enrichPage: async () => ({ examined: 0, known: 0, errors: [], isLast: true }),
  };
}
