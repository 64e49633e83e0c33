import {
  ActivityCancellationType,
  CancellationScope,
  ContinueAsNew,
  continueAsNew,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import {
  allowanceOf,
  type CarriedJob,
  emptyRecord,
  type JobActivities,
  type JobEnd,
  type JobResult,
  paceMsOf,
  type PageActivities,
  type PageResult,
  resultOf,
  type RunJobInput,
} from '../core/jobs.js';
import { rootMessageOf } from './execution.js';

/** Each is one short transaction. If the database is away, the run waits for it as long as the run may take. */
const { beginJob, endJob } = proxyActivities<JobActivities>({
  startToCloseTimeout: 5_000,
  retry: { initialInterval: 200, backoffCoefficient: 2, maximumInterval: 5_000 },
});

/** The rest of the run's time is for its last page and for ending it in order: Temporal ends a run that takes longer, and nothing is
 *  written. */
const WORK_SHARE = 0.75;

/** The time of a run that was started without a timeout. */
const DEFAULT_TIMEOUT_MS = 3_600_000;

/** A page answers after a minute of work; this is for a page whose last thing takes several questions to servers that hang. */
const PAGE_TIMEOUT_MS = 420_000;

/** The runner beats every second, so that a killed or frozen worker is seen soon. */
const PAGE_HEARTBEAT_MS = 10_000;

/** A page that failed five times in 15 s, or took five workers with it, fails the run. */
const PAGE_RETRY = { initialInterval: 1_000, backoffCoefficient: 2, maximumAttempts: 5 } as const;

/** A page with its pace costs a dozen events; Temporal warns at 10,240 and ends a run at 51,200. */
const EVENTS_PER_RUN = 4_000;

/** Turns page after page of a job until its last, or until the time is up: then the cursor is stored, and the next run begins there.
 *  It knows no job, so a new job never changes this workflow. Null: this run was given up before it began. */
export async function runJob(input: RunJobInput): Promise<JobResult | null> {
  const job = input.carried ?? (await begin(input));
  if (!job) return null;
  try {
    const { isLast, isWhole } = await turnPages(input, job);
    await endJob(endOf(input, job, { isLast, isWhole }));
    const { record } = job;
    return { result: resultOf(record, isWhole), errors: record.errors, costCents: record.costCents };
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    const end = isCancellation(error) ? abortedEnd(job) : failedEnd(job, rootMessageOf(error));
    await CancellationScope.nonCancellable(() => endJob(end));
    throw error;
  }
}

async function begin({ job, key, input }: RunJobInput): Promise<CarriedJob | null> {
  const { firstExecutionRunId: runId, startTime, executionTimeoutMs, runTimeoutMs } = workflowInfo();
  const timeoutMs = executionTimeoutMs ?? runTimeoutMs ?? DEFAULT_TIMEOUT_MS;
  const startMs = startTime.getTime();
  const leftMs = Math.max(0, startMs + timeoutMs - Date.now());
  const begun = await beginJob({ job, key, input, runId, timeoutMs: leftMs });
  if (!begun.begun) return null;
  return {
    execution: begun.id,
    startedAt: begun.startedAt,
    deadline: startMs + timeoutMs * WORK_SHARE,
    cursor: begun.cursor ?? null,
    record: emptyRecord(),
  };
}

type LastPage = Pick<PageResult, 'isLast' | 'isWhole'>;

/** Turns at least one page, so that a run that starts late also makes progress. */
async function turnPages(input: RunJobInput, job: CarriedJob): Promise<LastPage> {
  const { runPage } = pagesOf(input);
  const { perSecond, eventsPerRun = EVENTS_PER_RUN } = input;
  for (;;) {
    setCurrentDetails(`**${input.job}**: ${job.record.pages} pages done`);
    const begunAt = Date.now();
    const { cursor, record, execution, startedAt } = job;
    const leftMs = Math.max(0, job.deadline - begunAt);
    const told = { job: input.job, input: input.input, atMost: allowanceOf(perSecond) };
    const page = await runPage({ ...told, execution, startedAt, cursor, leftMs, record });
    job.record = page.record;
    job.cursor = page.next;
    if (page.isLast) return page;
    const nextAt = begunAt + paceMsOf(perSecond, page.done);
    if (Math.max(nextAt, Date.now()) >= job.deadline) return { isLast: false, isWhole: false };
    if (nextAt > Date.now()) await sleep(nextAt - Date.now());
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    if (historyLength >= eventsPerRun || continueAsNewSuggested) {
      await continueAsNew<typeof runJob>({ ...input, carried: job });
    }
  }
}

/** A run that is aborted waits until its page has stopped, so that nothing is done after the row says `aborted`. */
function pagesOf({ queue }: RunJobInput): PageActivities {
  return proxyActivities<PageActivities>({
    taskQueue: queue,
    startToCloseTimeout: PAGE_TIMEOUT_MS,
    heartbeatTimeout: PAGE_HEARTBEAT_MS,
    retry: PAGE_RETRY,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  });
}

function endOf({ input }: RunJobInput, job: CarriedJob, { isLast, isWhole }: LastPage): JobEnd {
  const { execution: id, cursor, record } = job;
  const { phases, errors, costCents } = record;
  const idle = isLast && record.isIdle && errors.length === 0;
  const goesOn = isLast ? null : { input, cursor };
  return { id, status: 'completed', idle, result: resultOf(record, isWhole), phases, errors, costCents, goesOn };
}

/** The next run begins at the beginning: at the cursor, the page that failed would fail again before anything else is done. */
function failedEnd(job: CarriedJob, why: string): JobEnd {
  const { execution: id, record } = job;
  const { phases, costCents } = record;
  const errors = [...record.errors, why];
  return {
    id,
    status: 'failed',
    idle: false,
    result: resultOf(record, false),
    phases,
    errors,
    costCents,
    goesOn: null,
  };
}

/** The next run begins at the beginning, as somebody who starts the job again expects. */
function abortedEnd(job: CarriedJob): JobEnd {
  const { execution: id, record } = job;
  const { phases, errors, costCents } = record;
  return {
    id,
    status: 'aborted',
    idle: false,
    result: resultOf(record, false),
    phases,
    errors,
    costCents,
    goesOn: null,
  };
}
