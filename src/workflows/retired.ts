import { isCancellation, patched, proxyActivities } from '@temporalio/workflow';
import type { JobFacts } from '../core/jobs.js';
import { type ExecutionRecord, timePhase, rootMessageOf, recordExecution } from './execution.js';

/** Workflows that `run-job` has replaced. Runs of them may be on their way when a new version takes over, and a version before
 *  `run-job` that still runs beside it starts more. Each run lasts an hour at most. This file, src/activities/retired.ts,
 *  src/start/parts/retired.ts and their recorded histories may be removed from 2026-12-16 on, in a version that is not installed
 *  directly over a version from before 2026-11-18. */

/** Enough to see what goes wrong. */
const ERRORS_KEPT = 20;

/** Examined by one activity. */
const PER_PAGE = 5;

interface RetiredActivities {
  retainBatch(step: string): Promise<{ count: number; isLast: boolean }>;
  refreshAggregate(name: string): Promise<void>;
  discoverPage(input: { keyword: string; from: number; budget: number }): Promise<FoundPage>;
  enrichPage(input: { startedAt: string; budget: number }): Promise<EnrichedPage>;
}

interface FoundPage {
  seen: number;
  examined: number;
  byOutcome: Record<string, number>;
  submitted: number;
  errors: string[];
  next: number | null;
}

interface EnrichedPage {
  examined: number;
  known: number;
  errors: string[];
  isLast: boolean;
}

const { retainBatch } = proxyActivities<RetiredActivities>({
  startToCloseTimeout: 30_000,
  retry: { initialInterval: 1_000, maximumAttempts: 5 },
});

const { refreshAggregate } = proxyActivities<RetiredActivities>({
  startToCloseTimeout: 60_000,
  heartbeatTimeout: 5_000,
  retry: { initialInterval: 1_000, maximumAttempts: 3 },
});

const { discoverPage, enrichPage } = proxyActivities<RetiredActivities>({
  startToCloseTimeout: 420_000,
  heartbeatTimeout: 10_000,
  retry: { initialInterval: 1_000, maximumAttempts: 2 },
});

const FORMER_STEPS = ['hourlyMetrics', 'jobExecutions', 'outbox', 'receipts', 'idempotencyKeys', 'workers'];
const LATER_STEPS = ['skillContents', 'judgements', 'discoveredPackages'];

export async function retention(): Promise<JobFacts | null> {
  return recordExecution('retention', async ({ record, isTimeUp }) => {
    for (const step of patched('retention-of-submissions') ? [...FORMER_STEPS, ...LATER_STEPS] : FORMER_STEPS) {
      record.result[step] = 0;
      try {
        await timePhase(record, step, async () => {
          for (let isLast = false; !isLast && !isTimeUp();) {
            const batch = await retainBatch(step);
            const count = Number.isInteger(batch.count) ? batch.count : 0;
            record.result[step] = Number(record.result[step]) + count;
            isLast = batch.isLast || count === 0;
          }
        });
      } catch (error) {
        if (isCancellation(error)) throw error;
        record.errors.push(`${step}: ${rootMessageOf(error)}`);
      }
    }
  });
}

const AGGREGATES = ['submission-stats', 'submission-sla'];

export async function statsRefresh(): Promise<JobFacts | null> {
  return recordExecution('stats-refresh', async ({ record, isTimeUp }) => {
    record.result['refreshed'] = 0;
    for (const name of AGGREGATES) {
      if (isTimeUp()) break;
      try {
        await timePhase(record, name, () => refreshAggregate(name));
        record.result['refreshed'] = Number(record.result['refreshed']) + 1;
      } catch (error) {
        if (isCancellation(error)) throw error;
        record.errors.push(`${name}: ${rootMessageOf(error)}`);
      }
    }
    record.idle = record.errors.length === 0;
  });
}

const MAX_PAGES = 30;

export async function discoverNpm({ keyword, perRun }: { keyword: string; perRun: number }): Promise<JobFacts | null> {
  return recordExecution('discover-npm', async ({ record, isTimeUp }) => {
    const total: FoundPage = { seen: 0, examined: 0, byOutcome: {}, submitted: 0, errors: [], next: 0 };
    for (let pages = 0; pages < MAX_PAGES && total.next !== null && !isTimeUp(); pages += 1) {
      const budget = Math.min(PER_PAGE, perRun - total.examined);
      if (budget <= 0) break;
      const { next: from } = total;
      addFound(total, await timePhase(record, 'pages', () => discoverPage({ keyword, from, budget })));
      noteFound(record, total);
    }
  });
}

function noteFound(record: ExecutionRecord, { byOutcome, errors, next, ...counts }: FoundPage): void {
  record.result = { ...counts, byOutcome: { ...byOutcome }, isWhole: next === null };
  record.errors = errors;
  record.idle = counts.examined === 0 && errors.length === 0;
}

function addFound(total: FoundPage, page: FoundPage): void {
  total.seen += page.seen;
  total.examined += page.examined;
  total.submitted += page.submitted;
  for (const [outcome, count] of Object.entries(page.byOutcome)) {
    total.byOutcome[outcome] = (total.byOutcome[outcome] ?? 0) + count;
  }
  total.errors = [...total.errors, ...page.errors].slice(0, ERRORS_KEPT);
  total.next = page.next;
}

export async function enrichSkills({ perRun }: { perRun: number }): Promise<JobFacts | null> {
  return recordExecution('enrich-skills', async ({ record, startedAt, isTimeUp }) => {
    let [examined, known, isLast] = [0, 0, false];
    while (!isLast && examined < perRun && !isTimeUp()) {
      const budget = Math.min(PER_PAGE, perRun - examined);
      const page = await timePhase(record, 'pages', () => enrichPage({ startedAt, budget }));
      examined += page.examined;
      known += page.known;
      isLast = page.isLast;
      record.result = { examined, known, isWhole: isLast };
      record.errors = [...record.errors, ...page.errors].slice(0, ERRORS_KEPT);
    }
    record.idle = examined === 0 && record.errors.length === 0;
  });
}
