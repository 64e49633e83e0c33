import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type pg from 'pg';
import type { Logger } from 'pino';
import {
  addPage,
  areZero,
  type JobActivities,
  type JobRecord,
  type PageActivities,
  type PageInput,
  type PageRecord,
  type PageResult,
} from '../core/jobs.js';
import { isRetryable } from '../core/errors.js';
import { beginJob, endJob, noteProgress } from '../db/recovery/job-executions.js';
import type { JobPage, PageAnswer } from '../ports/job.js';
import { watchPage } from './watch-page.js';

export interface JobRunnerDeps {
  pool: pg.Pool;
  /** The jobs of one task queue, by name. */
  pages: Readonly<Record<string, JobPage>>;
  logger: Logger;
  /** Instead of PAGE_MS. */
  pageMs?: number;
}

/** A page should answer after this much work: its progress is shown then, and little is lost with a worker that dies over it. */
const PAGE_MS = 60_000;

/** In a rolling upgrade the next try may meet a newer worker, which knows the job. */
const UNKNOWN_JOB_RETRY_MS = 2_000;

/** The activities by which runs of sweeps and jobs write their rows. */
export function createExecutionActivities(pool: pg.Pool): JobActivities {
  return { beginJob: (begin) => beginJob(pool, begin), endJob: (end) => endJob(pool, end) };
}

/** Runs one page of a job, and shows the run's progress. */
export function createPageActivities(deps: JobRunnerDeps): PageActivities {
  return { runPage: (input) => runPage(deps, input) };
}

async function runPage(deps: JobRunnerDeps, input: PageInput): Promise<PageResult> {
  const page = deps.pages[input.job];
  if (!page) throw unknownJob(input.job);
  const begunAt = Date.now();
  const { cursor, atMost } = input;
  const deadline = new Date(begunAt + Math.min(deps.pageMs ?? PAGE_MS, leftMsOf(input)));
  const told = { input: input.input, cursor, atMost, deadline, startedAt: new Date(input.startedAt) };
  const answer = await watchPage((watch) => page({ ...told, ...watch })).catch((error: unknown) => {
    throw isRetryable(error) ? error : finalFailureOf(error);
  });
  const record = addPage(input.record, recordOf(answer, Date.now() - begunAt));
  await showProgress(deps, input, record);
  const isLast = 'last' in answer;
  return {
    record,
    done: answer.done ?? input.atMost ?? 0,
    next: isLast ? null : answer.next,
    isLast,
    isWhole: isLast && answer.isWhole !== false,
  };
}

/** The time left for this try, by Temporal's clock alone. Earlier tries of the page that failed took some of the
 *  time. */
function leftMsOf({ leftMs }: PageInput): number {
  const { scheduledTimestampMs, currentAttemptScheduledTimestampMs } = Context.current().info;
  return Math.max(0, leftMs - (currentAttemptScheduledTimestampMs - scheduledTimestampMs));
}

function recordOf(answer: PageAnswer, tookMs: number): PageRecord {
  const { counts, errors = [], costCents = 0, phases = { pages: tookMs } } = answer;
  return { counts, errors, costCents, phases, isIdle: answer.isIdle ?? (areZero(counts) && errors.length === 0) };
}

/** The page is done: a row that can't be written now shows its counts after the next page. */
async function showProgress(
  { pool, logger }: JobRunnerDeps,
  { job, execution }: PageInput,
  record: JobRecord,
): Promise<void> {
  try {
    await noteProgress(pool, execution, record);
  } catch (error) {
    logger.warn({ err: error, job, execution }, 'progress of a job could not be shown');
  }
}

/** The error that Temporal does not retry, because the next try would fail as well. */
function finalFailureOf(error: unknown): ApplicationFailure {
  return ApplicationFailure.fromError(error instanceof Error ? error : String(error), { nonRetryable: true });
}

function unknownJob(job: string): ApplicationFailure {
  return ApplicationFailure.create({
    message: `no job '${job}' in this version`,
    type: 'unknown_job',
    nextRetryDelay: UNKNOWN_JOB_RETRY_MS,
  });
}
