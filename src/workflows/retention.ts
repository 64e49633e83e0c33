import { isCancellation, proxyActivities } from '@temporalio/workflow';
import { type JobFacts, RETENTION_STEPS, type RetentionActivities } from '../core/jobs.js';
import { inPhase, messageOf, runJob } from './job.js';

/** A batch is bounded below the limit of a statement. */
const { retainBatch } = proxyActivities<RetentionActivities>({
  startToCloseTimeout: 30_000,
  retry: { initialInterval: 1_000, maximumAttempts: 5 },
});

/** Deletes, or folds into daily totals, what is older than it is kept for. A step that fails does not keep the others. */
export async function retention(): Promise<JobFacts | null> {
  return runJob('retention', async ({ record, isTimeUp }) => {
    for (const step of RETENTION_STEPS) {
      record.result[step] = 0;
      try {
        await inPhase(record, step, async () => {
          for (let isLast = false; !isLast && !isTimeUp();) {
            const batch = await retainBatch(step);
            record.result[step] = Number(record.result[step]) + batch.count;
            isLast = batch.isLast;
          }
        });
      } catch (error) {
        if (isCancellation(error)) throw error;
        record.errors.push(`${step}: ${messageOf(error)}`);
      }
    }
  });
}
