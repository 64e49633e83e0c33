import { isCancellation, proxyActivities } from '@temporalio/workflow';
import { AGGREGATES, type StatsActivities } from '../domains/submission/core/aggregates.js';
import type { JobFacts } from '../core/jobs.js';
import { inPhase, messageOf, runJob } from './execution.js';

/** A handful of statements, each of which the database ends after 15 s. */
const { refreshAggregate } = proxyActivities<StatsActivities>({
  startToCloseTimeout: 60_000,
  heartbeatTimeout: 5_000,
  retry: { initialInterval: 1_000, maximumAttempts: 3 },
});

/** Computes the figures that requests answer. One that fails keeps the last, whose age says so, and not the others. */
export async function statsRefresh(): Promise<JobFacts | null> {
  return runJob('stats-refresh', async ({ record, isTimeUp }) => {
    record.result['refreshed'] = 0;
    for (const name of AGGREGATES) {
      if (isTimeUp()) break;
      try {
        await inPhase(record, name, () => refreshAggregate(name));
        record.result['refreshed'] = Number(record.result['refreshed']) + 1;
      } catch (error) {
        if (isCancellation(error)) throw error;
        record.errors.push(`${name}: ${messageOf(error)}`);
      }
    }
    // Runs in which all went well share one row.
    record.idle = record.errors.length === 0;
  });
}
