import { CancellationScope, proxyActivities, rootCause, workflowInfo } from '@temporalio/workflow';
import type { JobActivities, JobFacts } from '../core/jobs.js';

/** What a job writes down as it goes: it is kept however the job ends. */
export interface JobRecord {
  result: JobFacts;
  /** Milliseconds by phase. */
  phases: Record<string, number>;
  errors: string[];
  /** Nothing was found to do. */
  idle: boolean;
}

export interface Job {
  record: JobRecord;
  /** By the database's clock. */
  startedAt: string;
  /** The run should stop where it is: the next one goes on there. */
  isTimeUp(): boolean;
}

/** One short transaction; a database that is away is waited for, as long as the run may take. */
const { beginJob, endJob } = proxyActivities<JobActivities>({
  startToCloseTimeout: 5_000,
  retry: { initialInterval: 200, backoffCoefficient: 2, maximumInterval: 5_000 },
});

/** The rest of the run's time is for ending it in order: Temporal ends a run that takes longer, and nothing is written. */
const WORK_SHARE = 0.75;

/** Of a run that was started by hand, without a timeout. */
const DEFAULT_TIMEOUT_MS = 3_600_000;

/** Writes the job's row first, then does it, then completes the row with what came of it. Null: its window is done already. */
export async function runJob(name: string, work: (job: Job) => Promise<void>): Promise<JobFacts | null> {
  const { runId, runStartTime, runTimeoutMs = DEFAULT_TIMEOUT_MS } = workflowInfo();
  const spentMs = (): number => Date.now() - runStartTime.getTime();
  const begun = await beginJob({ job: name, runId, timeoutMs: Math.max(0, runTimeoutMs - spentMs()) });
  if (!begun.begun) return null;

  const record: JobRecord = { result: {}, phases: {}, errors: [], idle: false };
  const { id, startedAt } = begun;
  try {
    await work({ record, startedAt, isTimeUp: () => spentMs() > runTimeoutMs * WORK_SHARE });
  } catch (error) {
    const errors = [...record.errors, messageOf(error)];
    await CancellationScope.nonCancellable(() => endJob({ id, status: 'failed', ...record, idle: false, errors }));
    throw error;
  }
  await endJob({ id, status: 'completed', ...record });
  return record.result;
}

/** Adds what the work takes to the phase, also when it fails. Workflow time: waiting for a worker is part of it. */
export async function inPhase<T>(record: JobRecord, phase: string, work: () => Promise<T>): Promise<T> {
  const before = Date.now();
  try {
    return await work();
  } finally {
    record.phases[phase] = (record.phases[phase] ?? 0) + Date.now() - before;
  }
}

export function messageOf(error: unknown): string {
  return rootCause(error) ?? String(error);
}
