import { isCancellation, patched, proxyActivities } from '@temporalio/workflow';
import { type JobFacts, RETENTION_STEPS, type RetentionActivities } from '../core/jobs.js';
import { inPhase, messageOf, runJob } from './execution.js';

/** A batch is bounded below the limit of a statement. */
const { retainBatch } = proxyActivities<RetentionActivities>({
  startToCloseTimeout: 30_000,
  retry: { initialInterval: 1_000, maximumAttempts: 5 },
});

/** Those before submissions left anything to delete. To be removed, with `patched`, a day after the last run without them: from
 *  2026-12-01 on. */
const FORMER_STEPS = RETENTION_STEPS.slice(0, RETENTION_STEPS.indexOf('workers') + 1);

/** Deletes, or folds into daily totals, what is older than it is kept for. A step that fails does not keep the others. */
export async function retention(): Promise<JobFacts | null> {
  return runJob('retention', async ({ record, isTimeUp }) => {
    for (const step of patched('retention-of-submissions') ? RETENTION_STEPS : FORMER_STEPS) {
      record.result[step] = 0;
      try {
        await inPhase(record, step, async () => {
          for (let isLast = false; !isLast && !isTimeUp();) {
            const batch = await retainBatch(step);
            // The worker of a former version knows no such step and counts nothing: it is not to be asked for ever.
            const count = Number.isInteger(batch.count) ? batch.count : 0;
            record.result[step] = Number(record.result[step]) + count;
            isLast = batch.isLast || count === 0;
          }
        });
      } catch (error) {
        if (isCancellation(error)) throw error;
        record.errors.push(`${step}: ${messageOf(error)}`);
      }
    }
  });
}
