import type pg from 'pg';
import type { Pipeline } from '../core/pipeline.js';
import type { Claimed } from './attempt.js';
import { claimTask } from './claim.js';
import { rereadAttempt } from './reread.js';

/** Whether an attempt that was told it does not hold its task holds it again: a database that crashed may have lost the claim, which
 *  it does not wait for, and then nobody else has the task. It finds the row as it was before, and so gets the same number. */
export async function claimAgain(pool: pg.Pool, pipeline: Pipeline, claimed: Claimed): Promise<boolean> {
  if ((await rereadAttempt(pool, claimed)) !== 'claim_lost') return false;
  const again = await claimTask(pool, pipeline, claimed);
  return again.answer === 'run' && again.claimed.fence === claimed.fence;
}
