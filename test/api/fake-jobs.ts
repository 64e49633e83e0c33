import type { JobRun, Jobs, JobStart } from '../../src/ports/jobs.js';

export interface FakeJobs extends Jobs {
  /** Every start that was asked for. */
  started: JobStart[];
}

/** Starts nothing. A second start with the same key joins the first, and every run goes on. */
export function createFakeJobs(): FakeJobs {
  const started: JobStart[] = [];
  const isSame = (one: JobStart, { job, key }: Pick<JobRun, 'job' | 'key'>) => one.job === job && one.key === key;
  return {
    started,
    async start(start) {
      const joined = started.some((each) => isSame(each, start));
      started.push(start);
      return { job: start.job, key: start.key, runId: `${start.job}:${start.key}`, joined };
    },
    wait: async () => null,
    abort: async () => undefined,
  };
}
