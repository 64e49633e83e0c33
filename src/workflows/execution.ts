import { CancellationScope, isCancellation, proxyActivities, rootCause, workflowInfo } from '@temporalio/workflow';
import { installationIn, type OfInstallation } from '../core/installation.js';
import type { JobActivities, JobFacts } from '../core/jobs.js';

/** The facts that a run collects. They are stored however the run ends. */
export interface ExecutionRecord {
  result: JobFacts;
  /** Milliseconds by phase. */
  phases: Record<string, number>;
  errors: string[];
  /** The run found nothing to do. */
  idle: boolean;
}

export interface Execution {
  record: ExecutionRecord;
  /** By the database's clock. */
  startedAt: string;
  /** Whether the run should stop where it is. The next run goes on from there. */
  isTimeUp(): boolean;
}

/** Each is one short transaction. If the database is away, the run waits for it as long as the run may take. */
const { beginJob, endJob } = proxyActivities<JobActivities>({
  startToCloseTimeout: 5_000,
  retry: { initialInterval: 200, backoffCoefficient: 2, maximumInterval: 5_000 },
});

/** The share of the run's time for its work. The rest is for ending the run in order, because Temporal ends a run that
 *  takes longer, and then nothing is written. */
const WORK_SHARE = 0.75;

/** The time of a run that was started by hand, without a timeout. */
const DEFAULT_TIMEOUT_MS = 3_600_000;

/** Writes the execution's row first, then does the work, then completes the row with its record. Sweeps use this, and
 *  runs of retired workflows; jobs have `run-job`. Null: the execution of this window is done already. */
export async function recordExecution(
  name: string,
  work: (execution: Execution) => Promise<void>,
): Promise<JobFacts | null> {
  const { runId, runStartTime, runTimeoutMs = DEFAULT_TIMEOUT_MS } = workflowInfo();
  const spentMs = (): number => Date.now() - runStartTime.getTime();
  const own = ofInstallation();
  const begun = await beginJob({ ...own, job: name, runId, timeoutMs: Math.max(0, runTimeoutMs - spentMs()) });
  if (!begun.begun) return null;

  const record: ExecutionRecord = { result: {}, phases: {}, errors: [], idle: false };
  const { id, startedAt } = begun;
  try {
    await work({ record, startedAt, isTimeUp: () => spentMs() > runTimeoutMs * WORK_SHARE });
  } catch (error) {
    const isAborted = isCancellation(error);
    const status = isAborted ? 'aborted' : 'failed';
    const errors = isAborted ? record.errors : [...record.errors, rootMessageOf(error)];
    await CancellationScope.nonCancellable(() => endJob({ ...own, id, status, ...record, idle: false, errors }));
    throw error;
  }
  await endJob({ ...own, id, status: 'completed', ...record });
  return record.result;
}

/** The installation of this run, for the arguments of its activities: a worker of another installation refuses them. */
export function ofInstallation(): OfInstallation {
  const installation = installationIn(workflowInfo().memo);
  return installation === undefined ? {} : { installation };
}

/** Adds the time of the work to the phase, also when the work fails. It is workflow time, so waiting for a worker is
 *  part of it. */
export async function timePhase<T>(record: ExecutionRecord, phase: string, work: () => Promise<T>): Promise<T> {
  const before = Date.now();
  try {
    return await work();
  } finally {
    record.phases[phase] = (record.phases[phase] ?? 0) + Date.now() - before;
  }
}

export function rootMessageOf(error: unknown): string {
  return rootCause(error) ?? String(error);
}
