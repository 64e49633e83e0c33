/** Facts that a job's execution is kept with. */
export type JobFacts = { [key: string]: number | string | boolean | null | { [key: string]: number } };

export interface JobBegin {
  /** The schedule's id. */
  job: string;
  /** Names this run of the job: begun twice, it is one execution. */
  runId: string;
  /** Past it, an execution that is still running has died. */
  timeoutMs: number;
  /** What window a windowed job does. */
  windowKey?: string;
}

/** `begun` false: the window was done before, or is being done. */
export type JobBegun = { begun: true; id: string; startedAt: string } | { begun: false };

export interface JobEnd {
  id: string;
  status: 'completed' | 'failed';
  /** Nothing was found to do: runs in a row that found nothing share one row. */
  idle: boolean;
  result: JobFacts;
  /** Milliseconds by phase. */
  phases: Record<string, number>;
  errors: string[];
}

export interface JobActivities {
  beginJob(begin: JobBegin): Promise<JobBegun>;
  endJob(end: JobEnd): Promise<void>;
}

/** What is deleted or folded once it is old enough, in this order: judgements go after the contents that they are of. */
export const RETENTION_STEPS = [
  'hourlyMetrics',
  'jobExecutions',
  'outbox',
  'receipts',
  'idempotencyKeys',
  'workers',
  'skillContents',
  'judgements',
  'discoveredPackages',
] as const;
export type RetentionStep = (typeof RETENTION_STEPS)[number];

export interface RetentionActivities {
  /** One batch. `isLast`: nothing that is old enough is left. */
  retainBatch(step: RetentionStep): Promise<{ count: number; isLast: boolean }>;
}
