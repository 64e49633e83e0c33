import type { OfInstallation } from './installation.js';

/** A value that a history and a row can hold. */
export type JobValue = string | number | boolean | null | JobValue[] | { [key: string]: JobValue };

/** Facts that a job's execution is kept with. */
export type JobFacts = { [key: string]: number | string | boolean | null | { [key: string]: number } };

/** The input of a job: small facts and ids, never contents. */
export type JobInput = Readonly<Record<string, JobValue>>;

/** Where a job goes on; null: at its beginning. */
export type JobCursor = JobValue;

/** The counts of a job, under the job's own names. The counts of its pages are added up. */
export type JobCounts = { [name: string]: number | { [name: string]: number } };

/** The task queue of the workflow `run-job` and of every job that names no queue of its own. Versions before `run-job` do not poll
 *  it. Sweeps have another queue, so that no job delays recovery. */
export const JOBS_QUEUE = 'jobs';

/** The engine's own job. */
export const RETENTION_JOB = 'retention';

/** The task queue of a job's pages. The prefix keeps the queue apart from the queues of pipelines. */
export function jobQueueOf({ queue }: { queue?: string | undefined }): string {
  return queue === undefined ? JOBS_QUEUE : `${JOBS_QUEUE}-${queue}`;
}

export type JobBegin = JobTimeout &
  OfInstallation & {
    /** The job's name, which is also its schedule's id. */
    job: string;
    /** Names this run of the job: begun twice, it is one execution. Continuing as new changes a run's id, so this is the id of the
     *  first run. */
    runId: string;
    /** The window of a windowed job. */
    windowKey?: string;
    /** Starts under one key join each other; '' is the key of a schedule's runs. */
    key?: string;
    /** A stored cursor is taken up only by a run with the input that it was stored with. */
    input?: JobInput;
  };

/** An execution that is still running after this time has died. `timeoutAt` is by Temporal's clock, and a begin that is tried again
 *  does not move it. Sweeps give a time from now on, which is all that version 0.1.0 knows. */
export type JobTimeout = { timeoutAt: string } | { timeoutMs: number };

/** `begun` false: the window was done before, or is being done. `cursor`: where a run of this job and key, whose time was up,
 *  stopped. */
export type JobBegun = { begun: true; id: string; startedAt: string; cursor?: JobCursor } | { begun: false };

/** `aborted`: a person ended the run. */
export type JobStatus = 'completed' | 'failed' | 'aborted';

export interface JobEnd extends OfInstallation {
  id: string;
  status: JobStatus;
  /** The run found nothing to do. Runs in a row that find nothing share one row. */
  idle: boolean;
  result: JobFacts;
  /** Milliseconds by phase. */
  phases: Record<string, number>;
  errors: string[];
  costCents?: number;
  /** The place where the next run goes on, because the time of this run was up. Null: the next run begins at the
   *  beginning. Sweeps leave it out, because they keep their place in the rows that they examine. */
  goesOn?: { input: JobInput; cursor: JobCursor } | null;
}

/** The activities by which runs of sweeps and jobs write into `job_executions`. */
export interface JobActivities {
  beginJob(begin: JobBegin): Promise<JobBegun>;
  endJob(end: JobEnd): Promise<void>;
}

/** The sum of a run's pages so far. */
export interface JobRecord {
  pages: number;
  counts: JobCounts;
  /** Milliseconds by phase. */
  phases: Record<string, number>;
  errors: string[];
  costCents: number;
  /** No page found anything to do. */
  isIdle: boolean;
}

export interface PageInput extends OfInstallation {
  job: string;
  /** The row in `job_executions`, which shows the record after each page. */
  execution: string;
  input: JobInput;
  cursor: JobCursor;
  /** When the run began, by the database's clock. */
  startedAt: string;
  /** When the run's time for work is up: in milliseconds since 1970, by Temporal's clock. */
  deadline: number;
  /** How many units of work the page may do; null: no limit. */
  atMost: number | null;
  /** Of the pages before this one. */
  record: JobRecord;
}

export interface PageResult {
  /** With this page. */
  record: JobRecord;
  /** How many things the page did, which a pace is kept by. */
  done: number;
  /** Where the next page goes on. */
  next: JobCursor;
  isLast: boolean;
  /** False: the run ends, though something is left for the next run. */
  isWhole: boolean;
}

export interface PageActivities {
  runPage(page: PageInput): Promise<PageResult>;
}

/** The argument of the workflow `run-job`. */
export type RunJobInput = {
  job: string;
  /** The task queue of its pages. */
  queue: string;
  key: string;
  input: JobInput;
  /** The pace: things a second at most. */
  perSecond?: number;
  /** Events after which the run continues as new; a test takes fewer. */
  eventsPerRun?: number;
  /** The facts that a run takes over when it continues as new. */
  carried?: CarriedJob;
};

export interface CarriedJob {
  execution: string;
  startedAt: string;
  /** When the time for work is up, and when a page without an answer is given up: in milliseconds since 1970, by Temporal's clock. */
  deadline: number;
  pagesEndAt: number;
  cursor: JobCursor;
  record: JobRecord;
}

/** The answer of `run-job`. */
export interface JobResult {
  result: JobFacts;
  errors: string[];
  costCents: number;
}

export function emptyRecord(): JobRecord {
  return { pages: 0, counts: {}, phases: {}, errors: [], costCents: 0, isIdle: true };
}

/** The record as the execution's row shows it. */
export function resultOf({ counts, pages }: JobRecord, isWhole: boolean): JobFacts {
  return { ...counts, pages, isWhole };
}

/** Enough to see what goes wrong; a broken server fails every thing in the same words. */
const ERRORS_KEPT = 20;

/** The facts that one page adds to the record. */
export interface PageRecord {
  counts: JobCounts;
  phases: Record<string, number>;
  errors: readonly string[];
  costCents: number;
  isIdle: boolean;
}

export function addPage(record: JobRecord, page: PageRecord): JobRecord {
  return {
    pages: record.pages + 1,
    counts: sumOfCounts(record.counts, page.counts),
    phases: sumOf(record.phases, page.phases),
    errors: [...record.errors, ...page.errors].slice(0, ERRORS_KEPT),
    costCents: record.costCents + page.costCents,
    isIdle: record.isIdle && page.isIdle,
  };
}

export function areZero(counts: JobCounts): boolean {
  return Object.values(counts).every((each) => (typeof each === 'number' ? each === 0 : areZero(each)));
}

function sumOfCounts(counts: JobCounts, more: JobCounts): JobCounts {
  const sum = { ...counts };
  for (const [name, count] of Object.entries(more)) {
    const before = sum[name];
    if (typeof count === 'number') sum[name] = (typeof before === 'number' ? before : 0) + count;
    else sum[name] = sumOf(typeof before === 'object' ? before : {}, count);
  }
  return sum;
}

function sumOf(counts: Record<string, number>, more: Record<string, number>): Record<string, number> {
  const sum = { ...counts };
  for (const [name, count] of Object.entries(more)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}

/** The pace is kept over some seconds: one page for each thing would fill the history. */
const PACE_WINDOW_MS = 10_000;

/** How many things a page may do at this pace; null: there is none. */
export function allowanceOf(perSecond: number | undefined): number | null {
  return perSecond === undefined ? null : Math.max(1, Math.round((perSecond * PACE_WINDOW_MS) / 1_000));
}

/** How long after its beginning the next page may begin, because this one did so many things. */
export function paceMsOf(perSecond: number | undefined, done: number): number {
  return perSecond === undefined ? 0 : Math.ceil((done / perSecond) * 1_000);
}
