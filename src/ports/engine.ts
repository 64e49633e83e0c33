import type { RunRef, RunStart } from '../core/run.js';

/** A run as the engine knows it. */
export type RunStatus =
  /** `wedgedBy`: the failure its workflow tasks fail with, again and again. */
  | { is: 'alive'; wedgedBy: string | null }
  /** `how` it ended: completed, failed, terminated, timed_out, canceled; or never_existed. */
  | { is: 'gone'; how: string };

export type IndexedRun = { is: 'alive' } | { is: 'gone'; how: string };

export interface QueueStatus {
  /** The workers that asked for work of this queue in the last minutes, alive or not. */
  pollers: { identity: string; seenAt: Date }[];
  /** Tasks that wait for a worker, and how long the oldest has; null: not known. */
  backlog: number | null;
  oldestMs: number | null;
}

/** The workflow engine. Every call may fail with AppError `engine_unavailable`: then nothing is known, and the caller
 *  does nothing and tries again later. */
export interface Engine {
  /** Starts the run. A run that is there already, running or closed, counts as success. */
  start(run: RunStart): Promise<void>;
  /** Tells the run to look at its row. False: there is no such open run. */
  wake(run: RunRef): Promise<boolean>;
  /** Asks the run to end; of no effect when it has ended. */
  end(run: RunRef): Promise<void>;
  /** Ends the run at once, without letting it act. Only for a run that another run has replaced and that has no stage at work: a run
   *  that waits for a worker would have to wait for one in order to end. */
  terminate(run: RunRef, why: string): Promise<void>;
  describe(run: RunRef): Promise<RunStatus>;
  /** These runs by workflow id, with one question to the search index. The index is a moment late: a run that was just started may be
   *  missing, and a listed run may have closed since. It does not tell whether a run is wedged. */
  findRuns(runs: readonly RunRef[]): Promise<Map<string, IndexedRun>>;
  /** A task queue by its name; the queue of a pipeline has the pipeline's name. */
  queue(name: string): Promise<QueueStatus>;
  /** The open runs of a pipeline, as the search index knows them. A listed run may have closed since. */
  openRuns(pipeline: string): AsyncIterable<RunRef & { startedAt: Date }>;
  /** Ends the attempt that holds this task token, so that the next attempt begins at once. False: the attempt is over
   *  already. The token names the attempt and never an id, because an id could end the healthy attempt that follows. */
  failAttempt(token: Uint8Array, why: string): Promise<boolean>;
  /** Lets any worker take the run's next workflow task, not only the worker that has the run cached. */
  resetSticky(run: RunRef): Promise<void>;
  /** Whether work that waits goes first by its priority. A server that does not know priorities hands out what came first. */
  heedsPriorities(): Promise<boolean>;
  /** Throws when the engine does not answer. */
  ping(): Promise<void>;
}
