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
import { isAppError, isRetryable } from '../core/errors.js';
import { isTransient } from '../db/postgres/database-fault.js';
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

/** A page that failed five times, or took five workers with it, is given up. */
const MAX_FAULTS = 5;

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
  const answer = await tryPage(deps, (watch) => page({ ...told, ...watch }));
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

/** Temporal's attempts also count tries that an outage, a shutdown or an older worker ended. So the beats carry the number of tries
 *  that the page failed. A try counts from its first beat on, because a worker that dies with its page can't count it later. */
async function tryPage({ logger }: JobRunnerDeps, turn: Parameters<typeof watchPage>[0]): Promise<PageAnswer> {
  const context = Context.current();
  const before = Number(context.info.heartbeatDetails ?? 0);
  if (before >= MAX_FAULTS) throw finalFailureOf(new Error('the page ended with its worker, try after try'));
  const faults = before + 1;
  try {
    return await watchPage(turn, { logger, details: faults });
  } catch (error) {
    if (context.cancellationSignal.aborted || isOutage(error)) {
      context.heartbeat(before);
      throw error;
    }
    throw isRetryable(error) && faults < MAX_FAULTS ? error : finalFailureOf(error);
  }
}

/** Whether the page failed by no fault of its own: the database or another server is away, busy or overloaded. */
function isOutage(error: unknown): boolean {
  if (isAppError(error)) return error.kind !== 'bug' && isRetryable(error);
  return isTransient(error);
}

/** The time that is left of the run's. Temporal's clock is known by the time at which it scheduled this try; the wait in the queue
 *  after that is known by the clock of this process alone. */
function leftMsOf({ deadline }: PageInput): number {
  const { currentAttemptScheduledTimestampMs: scheduledAt } = Context.current().info;
  return Math.max(0, deadline - Math.max(scheduledAt, Date.now()));
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
