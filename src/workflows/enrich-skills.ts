import { proxyActivities } from '@temporalio/workflow';
import type { EnrichmentActivities } from '../domains/submission/core/address/discovery.js';
import type { JobFacts } from '../core/jobs.js';
import { inPhase, runJob } from './execution.js';

/** As for discovery. */
const { enrichPage } = proxyActivities<EnrichmentActivities>({
  startToCloseTimeout: 420_000,
  heartbeatTimeout: 10_000,
  retry: { initialInterval: 1_000, maximumAttempts: 2 },
});

const PER_PAGE = 5;
const ERRORS_KEPT = 20;

/** Asks what others say of published skills, those first that were asked about longest ago. */
export async function enrichSkills({ perRun }: { perRun: number }): Promise<JobFacts | null> {
  return runJob('enrich-skills', async ({ record, startedAt, isTimeUp }) => {
    let [examined, known, isLast] = [0, 0, false];
    while (!isLast && examined < perRun && !isTimeUp()) {
      const budget = Math.min(PER_PAGE, perRun - examined);
      const page = await inPhase(record, 'pages', () => enrichPage({ startedAt, budget }));
      examined += page.examined;
      known += page.known;
      isLast = page.isLast;
      record.result = { examined, known, isWhole: isLast };
      record.errors = [...record.errors, ...page.errors].slice(0, ERRORS_KEPT);
    }
    record.idle = examined === 0 && record.errors.length === 0;
  });
}
