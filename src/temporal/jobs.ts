import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { CancelledFailure, rootCause } from '@temporalio/common';
import { AppError } from '../core/errors.js';
import { INSTALLATION_MEMO, type Membership, NO_MEMBERSHIP, nameIn } from '../core/installation.js';
import { JOBS_QUEUE, jobQueueOf, type JobResult, type RunJobInput } from '../core/jobs.js';
import type { JobEnding, JobRun, Jobs, JobStart } from '../ports/jobs.js';
import { engineUnavailable, CALL_LIMIT_MS, callUnlessAway } from './engine.js';

const RUN_JOB = 'run-job';

/** As long as a run of a schedule may take. */
const TIMEOUT_MS = 3_600_000;

/** A job that can be started, and the queue that it names. */
export interface StartableJob {
  name: string;
  queue?: string | undefined;
}

export function createTemporalJobs(client: Client, jobs: readonly StartableJob[], own = NO_MEMBERSHIP): Jobs {
  return {
    async start(start) {
      const job = jobs.find(({ name }) => name === start.job);
      const known = jobs.map(({ name }) => name).join(', ');
      if (!job) throw new AppError('not_found', `there is no job ${start.job}; there are ${known}`);
      assertSound(start);
      return callUnlessAway(client, CALL_LIMIT_MS, () => startOrJoin(client, own, job, start));
    },
    wait: (run, waitMs) => wait(client, own, run, waitMs),
    abort: (run) => callUnlessAway(client, CALL_LIMIT_MS, () => unlessEnded(() => abort(client, own, run))),
  };
}

/** The empty key belongs to the runs of schedules, and their cursor. A pace of nothing would never turn a second page. */
function assertSound({ key, perSecond }: JobStart): void {
  if (key === '')
    throw new AppError('invalid_input', 'a job that is started by hand needs a key, such as the id of its target');
  if (perSecond !== undefined && !(Number.isFinite(perSecond) && perSecond > 0)) {
    throw new AppError(
      'invalid_input',
      `a pace of ${perSecond} a second is none: give a number above 0, or leave it out`,
    );
  }
}

/** A run that has ended leaves the id to the next start. */
async function startOrJoin(
  client: Client,
  own: Membership,
  job: StartableJob,
  start: JobStart,
): Promise<JobRun & { joined: boolean }> {
  const installation = own.id();
  const { key, input, perSecond, timeoutMs = TIMEOUT_MS } = start;
  const pace = perSecond !== undefined && { perSecond };
  const told: RunJobInput = { job: job.name, queue: nameIn(own.name, jobQueueOf(job)), key, input, ...pace };
  const workflowId = workflowIdOf(own, start);
  try {
    const { firstExecutionRunId: runId } = await client.workflow.start(RUN_JOB, {
      workflowId,
      taskQueue: nameIn(own.name, JOBS_QUEUE),
      args: [told],
      ...(installation !== undefined && { memo: { [INSTALLATION_MEMO]: installation } }),
      workflowExecutionTimeout: timeoutMs,
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.FAIL,
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
      staticSummary: `${job.name} ${key}`,
    });
    return { job: job.name, key, runId, joined: false };
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    // The error does not say which run it is, and the latest may have continued as new.
    const { raw } = await client.workflow.getHandle(workflowId).describe();
    return { job: job.name, key, runId: raw.workflowExecutionInfo?.firstRunId ?? '', joined: true };
  }
}

function workflowIdOf(own: Membership, { job, key }: Pick<JobRun, 'job' | 'key'>): string {
  return nameIn(own.name, `job:${job}:${key}`);
}

async function abort(client: Client, own: Membership, run: JobRun): Promise<void> {
  own.id();
  const { runId: firstExecutionRunId } = run;
  await client.workflow.getHandle(workflowIdOf(own, run), undefined, { firstExecutionRunId }).cancel();
}

async function wait(client: Client, own: Membership, run: JobRun, waitMs: number): Promise<JobEnding | null> {
  const over = AbortSignal.timeout(waitMs);
  try {
    // The handle names the first run's id, so that a later run of the same key is not taken for this run.
    const handle = client.workflow.getHandle(workflowIdOf(own, run), run.runId);
    const result = (await client.connection.withAbortSignal(over, () => handle.result())) as JobResult | null;
    // A run whose row another run had marked as dead does nothing.
    return result
      ? { status: 'completed', ...result }
      : { status: 'failed', why: 'the run was given up before it began' };
  } catch (error) {
    if (over.aborted) return null;
    if (error instanceof WorkflowNotFoundError) throw new AppError('not_found', `there is no run ${run.runId}`);
    if (!(error instanceof WorkflowFailedError)) throw engineUnavailable(error);
    if (error.cause instanceof CancelledFailure) return { status: 'aborted' };
    return { status: 'failed', why: rootCause(error.cause) ?? error.message };
  }
}

async function unlessEnded(call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
