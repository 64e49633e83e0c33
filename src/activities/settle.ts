import { Context } from '@temporalio/activity';
import { ApplicationFailure, type CancelledFailure } from '@temporalio/common';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Pipeline } from '../core/pipeline.js';
import type { Step } from '../core/step.js';
import { isTransient } from '../db/postgres/database-fault.js';
import type { Claimed, Ending } from '../db/spine/attempt.js';
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

/** Another worker should take a released task at once. */
const RELEASED_RETRY_MS = 10;

/** Commits the ending and translates it for Temporal: returns the next step, throws where another try is left. */
export async function commitEnding(deps: SettleDeps, claimed: Claimed, ending: Ending): Promise<Step> {
  const { pool, pipeline, logger } = deps;
  const committed = await commitOrReread(deps, claimed, ending);
  if (committed instanceof Error) {
    // The database refused the save itself, which is an error of the stage like any other.
    return commitEnding(deps, claimed, errorEnding(pipeline, claimed, committed));
  }
  if (committed === 'superseded') {
    logger.warn({ worker: claimed.worker, fence: claimed.fence }, 'commit of a superseded attempt refused');
    if (ending.is !== 'released') await recordRefusal(pool, pipeline.name, claimed);
    return { do: 'next' };
  }
  if (ending.is === 'error') throw retryLater(deps, ending);
  if (ending.is === 'released') throw giveBack(deps, ending);
  logger.info({ ending: ending.is, next: committed.do }, 'stage ended');
  return committed;
}

/** A cancelled run is told that its activity was cancelled. Otherwise the task is wanted again. */
function giveBack({ logger }: SettleDeps, { why }: Extract<Ending, { is: 'released' }>): Error {
  const cause = Context.current().cancellationSignal.reason as CancelledFailure;
  logger.info({ why: cause.message }, 'stage released');
  if (why === 'cancelled') return cause;
  return ApplicationFailure.create({ message: cause.message, type: 'released', nextRetryDelay: RELEASED_RETRY_MS });
}

/** Without the error itself as the cause, because a stage's error may be larger than Temporal takes and may quote contents. */
function retryLater(
  { logger }: SettleDeps,
  { error, retryInMs }: Extract<Ending, { is: 'error' }>,
): ApplicationFailure {
  logger.warn({ errorClass: error.class, error: error.message, retryInMs }, 'stage failed and will be retried');
  return ApplicationFailure.create({ message: error.message, type: error.class, nextRetryDelay: retryInMs });
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
