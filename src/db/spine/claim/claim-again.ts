import type pg from 'pg';
import type { Pipeline } from '../../../core/pipeline.js';
import type { Claimed } from '../attempt.js';
import { claimTask } from './claim.js';
import { rereadAttempt } from '../reread.js';

/** Whether an attempt that was told it does not hold its task holds it again: a database that crashed may have lost the claim, which
 *  it does not wait for, and then nobody else has the task. It finds the row as it was before, and so gets the same number. Where a
 *  beat and a commit of one attempt were both told so, the later one finds that the other has claimed for both. */
export async function claimAgain(pool: pg.Pool, pipeline: Pipeline, claimed: Claimed): Promise<boolean> {
  const fate = await rereadAttempt(pool, claimed);
  if (fate !== 'claim_lost') return fate === 'not_committed';
  const again = await claimTask(pool, pipeline, claimed);
  return again.answer === 'run' && again.claimed.fence === claimed.fence;
}
