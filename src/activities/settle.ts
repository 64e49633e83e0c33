import { ApplicationFailure, type CancelledFailure } from '@temporalio/common';
import type pg from 'pg';
import type { Logger } from 'pino';
import { stageOf } from '../core/machine.js';
import type { Pipeline } from '../core/pipeline.js';
import type { Step } from '../core/step.js';
import type { Claimed } from '../db/spine/attempt.js';
import { claimAgain } from '../db/spine/claim/claim-again.js';
import { commitAttempt, type Committed, type Ending } from '../db/spine/commit.js';
import { recordRefusal, rereadAttempt } from '../db/spine/reread.js';
import { isTransient } from '../db/transient.js';
import { errorEnding } from './ending.js';
import { type GiveUp, patiently, withoutEnd } from './patience.js';
import type { Settled } from './watch.js';

interface SettleDeps {
  pool: pg.Pool;
  pipeline: Pipeline;
  logger: Logger;
  /** No more waiting for the database. */
  released: GiveUp;
}

/** So often the database answered in between and the same save still broke its connection or its time limit: the save is
 *  at fault, not the database. */
const SAVE_TRIES = 3;

/** A released attempt is wanted elsewhere at once. */
const RELEASED_RETRY_MS = 10;

/** Writes how the attempt ended and translates it for Temporal: the next step is returned, a try that is left is thrown. */
export async function commitEnding(
  deps: SettleDeps,
  claimed: Claimed,
  ending: Ending | null,
  settled: Settled,
): Promise<Step> {
  if (!ending) return { do: 'next' };
  const committed = await commitOrReread(deps, claimed, ending);
  if (committed instanceof Error) {
    // The save itself was refused by the database: an error of the stage, like any other.
    const failed = errorEnding(stageOf(deps.pipeline, claimed.stage).row, claimed, committed);
    return commitEnding(deps, claimed, failed, { as: 'error', error: committed });
  }
  if ('refused' in committed) {
    deps.logger.warn({ worker: claimed.worker, fence: claimed.fence }, 'commit of a superseded attempt refused');
    if (ending.is !== 'released') await recordRefusal(deps.pool, deps.pipeline.name, claimed);
    return { do: 'next' };
  }
  if (ending.is === 'error') throw retryLater(deps, ending);
  if (settled.as === 'released') {
    deps.logger.info({ why: settled.cause.message }, 'stage released');
    throw settled.why === 'cancelled' ? settled.cause : retryAtOnce(settled.cause);
  }
  deps.logger.info({ ending: ending.is, next: committed.step.do }, 'stage ended');
  return committed.step;
}

function retryAtOnce({ message }: CancelledFailure): ApplicationFailure {
  return ApplicationFailure.create({ message, type: 'released', nextRetryDelay: RELEASED_RETRY_MS });
}

/** Without the error itself as its cause: what a stage throws may be larger than Temporal takes, and may quote contents. */
function retryLater(
  { logger }: SettleDeps,
  { error, retryInMs }: Extract<Ending, { is: 'error' }>,
): ApplicationFailure {
  logger.warn({ errorClass: error.class, error: error.message, retryInMs }, 'stage failed and will be retried');
  return ApplicationFailure.create({ message: error.message, type: error.class, nextRetryDelay: retryInMs });
}

/** Commits, however long the database is away: an attempt left unended would count as a crash. After a lost answer asks what became of
 *  it, and claims again what the database has lost. Returns the error where the save itself is at fault. */
async function commitOrReread(deps: SettleDeps, claimed: Claimed, ending: Ending): Promise<Committed | Error> {
  let lost = false;
  let answered = 0;
  async function tryCommit(): Promise<Committed | Error> {
    if (lost) {
      const fate = await rereadAttempt(deps.pool, claimed);
      if (fate === 'committed') return { step: { do: 'next' } };
      if (fate === 'superseded') return { refused: 'superseded' };
      answered += 1;
    }
    try {
      const committed = await commitAttempt(deps.pool, deps.pipeline, claimed, ending);
      if (!('refused' in committed) || !(await claimAgain(deps.pool, deps.pipeline, claimed))) return committed;
      return await commitAttempt(deps.pool, deps.pipeline, claimed, ending);
    } catch (error) {
      lost = isTransient(error);
      const isOfSave = ending.is === 'done' && (!lost || answered >= SAVE_TRIES);
      if (!isOfSave) throw error;
      return error instanceof Error ? error : new Error(String(error));
    }
  }
  return patiently(tryCommit, withoutEnd(), deps.released);
}
