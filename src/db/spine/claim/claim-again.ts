import type pg from 'pg';
import type { Pipeline } from '../../../core/pipeline.js';
import type { Claimed } from '../attempt.js';
import { claimTask } from './claim.js';
import { rereadAttempt } from '../reread.js';

/** Claims again for an attempt that was told it does not hold its task, and says whether the attempt holds the task now. A database
 *  that crashed may have lost the claim, because a first claim is answered before it is on disk, and then nobody else has the task. The
 *  new claim finds the row as it was before, and so gets the same fence. Where a beat and a commit of one attempt both ask, the later
 *  of them finds that the other has claimed for both. */
export async function claimAgain(pool: pg.Pool, pipeline: Pipeline, claimed: Claimed): Promise<boolean> {
  const fate = await rereadAttempt(pool, claimed);
  if (fate !== 'claim_lost') return fate === 'not_committed';
  const again = await claimTask(pool, pipeline, claimed);
  return again.is === 'run' && again.claimed.fence === claimed.fence;
}
