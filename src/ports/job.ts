import type pg from 'pg';
import type { Logger } from 'pino';
import type { JobCounts, JobCursor, JobInput } from '../core/jobs.js';
import type { Pipeline } from '../core/pipeline.js';
import type { When } from '../core/schedules.js';
import type { OpenBlobStore } from './blob-store.js';
import type { Engine } from './engine.js';
import type { Sql } from './sql.js';

/** The means that a process gives to the jobs it works on. */
export interface JobParts {
  /** Connections of the job's queue. A job that names no queue uses the connections of the API process. */
  pool: pg.Pool;
  engine: Engine;
  /** With the operator's settings laid over them. */
  pipelines: Readonly<Record<string, Pipeline>>;
  blobs: OpenBlobStore;
  logger: Logger;
}

export interface JobSchedule {
  when: When;
  input: JobInput;
  /** The pace: things a second at most. */
  perSecond?: number;
  /** False: the job is not configured, and its schedule is switched off. */
  isOn?: boolean;
}

/** Work that `run-job` does page by page. Settings are of the domain that the job belongs to. */
export interface JobPart<Settings = unknown> {
  /** Also the schedule's id and the name of its executions. */
  name: string;
  /** A separate task queue for the job's pages, with its own worker and connections. It is for a job that may hang or
   *  flood, so that no other job is delayed. Jobs that name the same queue share it. */
  queue?: string;
  /** A job without a schedule is started by hand alone. */
  schedule?(settings: Settings): JobSchedule;
  /** Called once in each process that works on the job. Heavy modules are imported here, so that other processes do without. */
  create(parts: JobParts, settings: Settings): Promise<JobPage> | JobPage;
}

export interface PageContext {
  input: JobInput;
  /** The place where the page before this one stopped, or a run whose time was up. Null: at the beginning. */
  cursor: JobCursor;
  /** How many units of work the page may do; null: no limit. */
  atMost: number | null;
  /** The page should answer soon after this time, with the cursor that it has reached. A page does at least one batch,
   *  however late it is. */
  deadline: Date;
  /** When the run began, by the database's clock. */
  startedAt: Date;
  /** Aborted when a person aborts the run, the worker shuts down, or the page was silent for too long. An aborted page stops soon: half a
   *  minute after an abort the run no longer waits for it. */
  signal: AbortSignal;
  /** Says that the page itself moves on, as after each batch: a page that is silent for minutes hangs, and is aborted. */
  beat(): void;
}

export type PageAnswer = {
  counts: JobCounts;
  /** Things that could not be done, which keep no other thing from being done. */
  errors?: readonly string[];
  costCents?: number;
  /** Milliseconds by phase; without them the whole page is the phase `pages`. */
  phases?: Record<string, number>;
  /** How many things the page did; without it, as many as it was allowed. A pace is kept by it. */
  done?: number;
  /** True: the page found nothing to do. Without this field, a page is idle if all counts are zero and there are no
   *  errors. Runs in a row that found nothing share one row. */
  isIdle?: boolean;
} & ({ next: JobCursor } | { last: true; /** False: something is left, though the run ends. */ isWhole?: boolean });

/** One page. Two attempts of a page may overlap, so a page is idempotent: it commits its work row by row or batch by batch. */
export type JobPage = (page: PageContext) => Promise<PageAnswer>;

interface AnyRetention<Settings> {
  /** As the job `retention` counts it. */
  name: string;
  keptMs(settings: Settings): number;
  /** Rows of one statement, where a row is heavier than most. */
  batchRows?: number;
}

/** Old rows of a table. `isOld` is an SQL condition over the alias `old`; `$1` is for how many milliseconds rows are kept. */
export interface RetentionOfTable<Settings = unknown> extends AnyRetention<Settings> {
  table: string;
  isOld: string;
}

/** Old rows that are not simply deleted. Removes one batch and answers how many rows it was. */
export interface RetentionByHand<Settings = unknown> extends AnyRetention<Settings> {
  removeOld(sql: Sql, keptMs: number, rows: number): Promise<number>;
}

export type RetentionPart<Settings = unknown> = RetentionOfTable<Settings> | RetentionByHand<Settings>;
