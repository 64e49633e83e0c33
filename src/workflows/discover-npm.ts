import { proxyActivities } from '@temporalio/workflow';
import type { DiscoveryActivities, DiscoverPage } from '../domains/submission/core/address/discovery.js';
import type { JobFacts } from '../core/jobs.js';
import { inPhase, type JobRecord, runJob } from './execution.js';

export interface DiscoverInput {
  keyword: string;
  /** Versions of packages that are examined at most. */
  perRun: number;
}

/** A handful of questions, each with a limit of its own; it beats meanwhile, so that a killed worker is seen soon. What a server
 *  says is no error of the activity, so this one is for the database, and two tries are enough: the next run comes soon. */
const { discoverPage } = proxyActivities<DiscoveryActivities>({
  startToCloseTimeout: 420_000,
  heartbeatTimeout: 10_000,
  retry: { initialInterval: 1_000, maximumAttempts: 2 },
});

/** Examined by one activity: little is lost with a worker that dies over it. */
const PER_PAGE = 5;

/** Pages that the registry is asked for in one run, so that a keyword which everybody uses ends as well. */
const MAX_PAGES = 30;

/** Enough to see what goes wrong. */
const ERRORS_KEPT = 20;

export async function discoverNpm({ keyword, perRun }: DiscoverInput): Promise<JobFacts | null> {
  return runJob('discover-npm', async ({ record, isTimeUp }) => {
    const total: DiscoverPage = { seen: 0, examined: 0, byOutcome: {}, submitted: 0, errors: [], next: 0 };
    for (let pages = 0; pages < MAX_PAGES && total.next !== null && !isTimeUp(); pages += 1) {
      const budget = Math.min(PER_PAGE, perRun - total.examined);
      if (budget <= 0) break;
      const { next: from } = total;
      addPage(total, await inPhase(record, 'pages', () => discoverPage({ keyword, from, budget })));
      note(record, total);
    }
  });
}

function note(record: JobRecord, { byOutcome, errors, next, ...counts }: DiscoverPage): void {
  record.result = { ...counts, byOutcome: { ...byOutcome }, isWhole: next === null };
  record.errors = errors;
  record.idle = counts.examined === 0 && errors.length === 0;
}

function addPage(total: DiscoverPage, page: DiscoverPage): void {
  total.seen += page.seen;
  total.examined += page.examined;
  total.submitted += page.submitted;
  for (const [outcome, count] of Object.entries(page.byOutcome)) {
    const known = outcome as keyof DiscoverPage['byOutcome'];
    total.byOutcome[known] = (total.byOutcome[known] ?? 0) + count;
  }
  total.errors = [...total.errors, ...page.errors].slice(0, ERRORS_KEPT);
  total.next = page.next;
}
