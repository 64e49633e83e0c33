import type { RunInput, RunRef } from '../core/run.js';

/** The workflow engine. Every call may fail with AppError `engine_unavailable`; the dispatcher then tries again. */
export interface Engine {
  /** Starts the run. One that is there already, running or closed, is success. */
  start(run: RunInput): Promise<void>;
  /** Tells the run to look at its row. False: there is no such open run. */
  wake(run: RunRef): Promise<boolean>;
  /** Asks the run to end; of no effect when it has ended. */
  end(run: RunRef): Promise<void>;
  /** Throws when the engine does not answer. */
  ping(): Promise<void>;
}
