import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import type { JobFacts } from '../core/jobs.js';
import { sweepIdOf, type SweepInput } from '../core/schedules.js';
import { emptyPage, type SweepActivities, type SweepPage } from '../core/sweep-page.js';
import { type ExecutionRecord, ofInstallation, timePhase, recordExecution } from './execution.js';

/** A page asks the engine about each of its stuck items; it beats meanwhile, so that a killed or frozen worker is seen soon. */
const { sweepPage } = proxyActivities<SweepActivities>({
  startToCloseTimeout: 60_000,
  heartbeatTimeout: 5_000,
  // A page that fails three times in a row fails the sweep. The next sweep comes soon, and the failed sweep is recorded
  // as failed.
  retry: { initialInterval: 500, maximumAttempts: 3 },
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});

/** Enough to see what goes wrong; a broken database fails every item in the same words. */
const ERRORS_KEPT = 20;

/** Turns page after page until the last. Each page stamps the rows that it examined, so a sweep that is cut short goes
 *  on with the next sweep. */
export async function sweep({ pipeline, rescues }: SweepInput): Promise<JobFacts | null> {
  return recordExecution(sweepIdOf(pipeline), async ({ record, startedAt, isTimeUp }) => {
    const total = emptyPage();
    let pages = 0;
    while (!total.isLast && !isTimeUp()) {
      const input = { ...ofInstallation(), pipeline, startedAt, rescuesLeft: rescues };
      const page = await timePhase(record, 'pages', () => sweepPage(input));
      addPage(total, page);
      pages += 1;
      note(record, total, pages);
    }
  });
}

function note(record: ExecutionRecord, total: SweepPage, pages: number): void {
  const { errors, stuckMsTotal, isLast, byReason, ...counts } = total;
  const averageStuckDuration = total.totalStuck === 0 ? null : Math.round(stuckMsTotal / total.totalStuck);
  record.result = { ...counts, ...(byReason && { byReason }), averageStuckDuration, pages, isWhole: isLast };
  record.errors = errors;
  record.idle = isLast && errors.length === 0 && countActions(total) === 0;
}

function countActions(page: SweepPage): number {
  const { totalStuck, reEnqueued, started = 0, permanentlyFailed, parked, endedRuns, reported } = page;
  return totalStuck + reEnqueued + started + permanentlyFailed + parked + endedRuns + reported;
}

function addPage(total: SweepPage, page: SweepPage): void {
  total.examined += page.examined;
  total.totalStuck += page.totalStuck;
  total.reEnqueued += page.reEnqueued;
  total.started = (total.started ?? 0) + (page.started ?? 0);
  total.permanentlyFailed += page.permanentlyFailed;
  total.parked += page.parked;
  total.endedRuns += page.endedRuns;
  total.reported += page.reported;
  total.stuckMsTotal += page.stuckMsTotal;
  total.byStatus = sumOf(total.byStatus, page.byStatus);
  // A page without these counts makes the sum unknown.
  if (total.byReason && page.byReason) total.byReason = sumOf(total.byReason, page.byReason);
  else delete total.byReason;
  total.errors = [...total.errors, ...page.errors].slice(0, ERRORS_KEPT);
  total.isLast = page.isLast;
}

function sumOf(counts: Record<string, number>, more: Record<string, number>): Record<string, number> {
  const sum = { ...counts };
  for (const [name, count] of Object.entries(more)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}
