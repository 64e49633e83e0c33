import type { JobInput, JobResult } from '../core/jobs.js';

export interface JobStart {
  job: string;
  /** A second start with the same key joins the run that goes on, whatever its input. Not empty. */
  key: string;
  input: JobInput;
  /** The pace: things a second at most, above 0. */
  perSecond?: number;
  /** How long the whole run may take; an hour if it is not said. */
  timeoutMs?: number;
}

/** One run of a job, however often it continued as new. */
export interface JobRun {
  job: string;
  key: string;
  /** Of the first run; `job_executions` has it as `run_id`. */
  runId: string;
}

export type JobEnding =
  | ({ status: 'completed' } & JobResult)
  /** `why`: the error of the page that failed, or how Temporal ended the run. */
  | { status: 'failed'; why: string }
  | { status: 'aborted' };

/** Starts jobs by hand. Calls fail with AppError `engine_unavailable` while the engine is away, and with `not_found` when there is no
 *  such job or run. A start without a key, or with a pace that is none, fails with `invalid_input`. */
export interface Jobs {
  start(start: JobStart): Promise<JobRun & { joined: boolean }>;
  /** Null: the run goes on after this time. */
  wait(run: JobRun, waitMs: number): Promise<JobEnding | null>;
  /** Asks the run to end, which it does when its page has stopped; of no effect when it has ended. */
  abort(run: JobRun): Promise<void>;
}
