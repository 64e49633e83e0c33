import type pg from 'pg';
import type { Logger } from 'pino';
import type { ErrorClass } from '../core/error-class.js';
import type { Pipeline } from '../core/pipeline.js';
import type { Step } from '../core/step.js';
import { isTransient } from '../db/postgres/database-fault.js';
import type { Claimed, Ending, ReleasedWhy } from '../db/spine/attempt.js';
import { claimAgain } from '../db/spine/claim/claim-again.js';
import { commitAttempt, type Committed } from '../db/spine/commit.js';
import { recordRefusal, rereadAttempt } from '../db/spine/reread.js';
import { errorEnding } from './ending.js';
import { endlessWaits, type GiveUp, retryPatiently } from './patience.js';

interface SettleDeps {
  pool: pg.Pool;
  pipeline: Pipeline;
  logger: Logger;
  /** Aborted when the attempt must no longer wait for the database. */
  released: GiveUp;
}

/** If the database answered this often in between and the same save still broke its connection or its time limit, the save is at
 *  fault and not the database. */
const SAVE_TRIES = 3;

/** What the run is told of an attempt that has ended: its next step, or that the task is wanted again. Without the stage's error
 *  itself, which may be larger than Temporal takes and may quote contents. */
export type Settled =
  | { is: 'step'; step: Step }
  | { is: 'retry'; errorClass: ErrorClass; message: string; retryInMs: number }
  | { is: 'released'; why: ReleasedWhy };

/** Commits the ending. */
export async function commitEnding(deps: SettleDeps, claimed: Claimed, ending: Ending): Promise<Settled> {
  const { pool, pipeline, logger } = deps;
  const committed = await commitOrReread(deps, claimed, ending);
  if (committed instanceof Error) {
    // The database refused the save itself, which is an error of the stage like any other.
    return commitEnding(deps, claimed, errorEnding(pipeline, claimed, committed));
  }
  if (committed === 'superseded') {
    logger.warn({ worker: claimed.worker, fence: claimed.fence }, 'commit of a superseded attempt refused');
    if (ending.is !== 'released') await recordRefusal(pool, pipeline.name, claimed);
    return { is: 'step', step: { do: 'next' } };
  }
  if (ending.is === 'released') {
    logger.info({ why: ending.why }, 'stage released');
    return ending;
  }
  if (ending.is === 'error' || ending.is === 'unbegun') {
    const { error, retryInMs } = ending;
    logger.warn({ errorClass: error.class, error: error.message, retryInMs }, 'stage failed and will be retried');
    return { is: 'retry', errorClass: error.class, message: error.message, retryInMs };
  }
  logger.info({ ending: ending.is, next: committed.do }, 'stage ended');
  return { is: 'step', step: committed };
}

/** Commits, however long the database is away, because an attempt that never ends would count as a crash. After a lost answer it reads
 *  how the attempt ended, and claims again where the database has lost the claim. Returns the error where the save is at fault. */
async function commitOrReread(deps: SettleDeps, claimed: Claimed, ending: Ending): Promise<Committed | Error> {
  let lost = false;
  let answered = 0;
  async function tryCommit(): Promise<Committed | Error> {
    if (lost) {
      const fate = await rereadAttempt(deps.pool, claimed);
      if (fate === 'committed') return { do: 'next' };
      if (fate === 'superseded') return fate;
      answered += 1;
    }
    try {
      const committed = await commitAttempt(deps.pool, deps.pipeline, claimed, ending);
      if (committed !== 'superseded' || !(await claimAgain(deps.pool, deps.pipeline, claimed))) return committed;
      return await commitAttempt(deps.pool, deps.pipeline, claimed, ending);
    } catch (error) {
      lost = isTransient(error);
      const isOfSave = ending.is === 'done' && (!lost || answered >= SAVE_TRIES);
      if (!isOfSave) throw error;
      return error instanceof Error ? error : new Error(String(error));
    }
  }
  return retryPatiently(tryCommit, endlessWaits(), deps.released);
}
