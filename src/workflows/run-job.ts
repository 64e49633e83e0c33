import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
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
import { ofInstallation, rootMessageOf } from './execution.js';

/** Each is one short transaction. If the database is away, the run waits for it as long as the run may take. */
const { beginJob, endJob } = proxyActivities<JobActivities>({
  startToCloseTimeout: 5_000,
  retry: { initialInterval: 200, backoffCoefficient: 2, maximumInterval: 5_000 },
});

/** The other quarter is for the last page and for `endJob`. Temporal terminates a run past its timeout, and then its row is not
 *  completed. */
const WORK_SHARE = 0.75;

/** A page without an answer is given up at this share of the run's time, so that time is left for `endJob`. */
const PAGES_SHARE = 0.9;

/** The time of the page of a run that begins after its time is up. */
const LATE_PAGE_MS = 1_000;

/** The time of a run that was started without a timeout. */
const DEFAULT_TIMEOUT_MS = 3_600_000;

/** A page should answer after a minute. The rest allows for one last item whose servers hang. */
const PAGE_TIMEOUT_MS = 420_000;

/** The runner beats every second, so that a killed or frozen worker is seen soon. */
const PAGE_HEARTBEAT_MS = 10_000;

/** An outage, a deployment or an older worker may cost any number of tries. The runner counts the tries that the page itself failed,
 *  and gives the page up. */
const PAGE_RETRY = { initialInterval: 1_000, backoffCoefficient: 2, maximumInterval: 10_000 } as const;

/** A page with its pace costs a dozen events; Temporal warns at 10,240 and ends a run at 51,200. */
const EVENTS_PER_RUN = 4_000;

/** Turns page after page of a job until its last, or until the time is up: then the cursor is stored, and the next run begins there.
 *  It knows no job, so a new job never changes this workflow. Null: this run was given up before it began. */
export async function runJob(input: RunJobInput): Promise<JobResult | null> {
  // An abort must not come between the row and the try block that completes it.
  const job = input.carried ?? (await CancellationScope.nonCancellable(() => begin(input)));
  if (!job) return null;
  try {
    throwIfAborted();
    const { isLast, isWhole } = await turnPages(input, job);
    await CancellationScope.nonCancellable(() =>
      endJob({ ...ofInstallation(), ...endOf(input, job, { isLast, isWhole }) }),
    );
    const { record } = job;
    return { result: resultOf(record, isWhole), errors: record.errors, costCents: record.costCents };
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    const end = isCancellation(error) ? abortedEnd(job) : failedEnd(input, job, error);
    await CancellationScope.nonCancellable(() => endJob({ ...ofInstallation(), ...end }));
    throw error;
  }
}

async function begin({ job, key, input }: RunJobInput): Promise<CarriedJob | null> {
  const { firstExecutionRunId: runId, startTime, executionTimeoutMs, runTimeoutMs } = workflowInfo();
  const timeoutMs = executionTimeoutMs ?? runTimeoutMs ?? DEFAULT_TIMEOUT_MS;
  const startMs = startTime.getTime();
  const timeoutAt = new Date(startMs + timeoutMs).toISOString();
  const begun = await beginJob({ ...ofInstallation(), job, key, input, runId, timeoutAt });
  if (!begun.begun) return null;
  return {
    execution: begun.id,
    startedAt: begun.startedAt,
    deadline: startMs + timeoutMs * WORK_SHARE,
    pagesEndAt: startMs + timeoutMs * PAGES_SHARE,
    cursor: begun.cursor ?? null,
    record: emptyRecord(),
  };
}

type LastPage = Pick<PageResult, 'isLast' | 'isWhole'>;

/** Turns at least one page, so that a run that starts late also makes progress. */
async function turnPages(input: RunJobInput, job: CarriedJob): Promise<LastPage> {
  const { perSecond, eventsPerRun = EVENTS_PER_RUN } = input;
  for (;;) {
    setCurrentDetails(`**${input.job}**: ${job.record.pages} pages done`);
    const begunAt = Date.now();
    const { cursor, record, execution, startedAt, deadline } = job;
    const told = { ...ofInstallation(), job: input.job, input: input.input, atMost: allowanceOf(perSecond) };
    const { runPage } = pagesOf(input, Math.max(LATE_PAGE_MS, job.pagesEndAt - begunAt));
    const page = await runPage({ ...told, execution, startedAt, cursor, deadline, record });
    job.record = page.record;
    job.cursor = page.next;
    if (page.isLast) return page;
    // A page may answer in spite of an abort, and continuing as new would lose the abort.
    throwIfAborted();
    const nextAt = begunAt + paceMsOf(perSecond, page.done);
    if (Math.max(nextAt, Date.now()) >= deadline) return { isLast: false, isWhole: false };
    if (nextAt > Date.now()) await sleep(nextAt - Date.now());
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    if (historyLength >= eventsPerRun || continueAsNewSuggested) {
      await continueAsNew<typeof runJob>({ ...input, carried: job });
    }
  }
}

function throwIfAborted(): void {
  if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('the run was aborted');
}

/** A run that is aborted waits until its page has stopped, so that nothing is done after the row says `aborted`. */
function pagesOf({ queue }: RunJobInput, leftMs: number): PageActivities {
  return proxyActivities<PageActivities>({
    taskQueue: queue,
    scheduleToCloseTimeout: leftMs,
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

/** After an outage the next run goes on at the cursor. If the page itself is at fault, the next run begins at the beginning: at the
 *  cursor the page would fail again before anything else is done. */
function failedEnd({ input }: RunJobInput, job: CarriedJob, error: unknown): JobEnd {
  const { execution: id, cursor, record } = job;
  const { phases, costCents } = record;
  const errors = [...record.errors, rootMessageOf(error)];
  return {
    id,
    status: 'failed',
    idle: false,
    result: resultOf(record, false),
    phases,
    errors,
    costCents,
    goesOn: isFaultOfPage(error) ? null : { input, cursor },
  };
}

/** The runner marks the error of a page that it has given up as not worth another try. */
function isFaultOfPage(error: unknown): boolean {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  return cause instanceof ApplicationFailure && cause.nonRetryable === true;
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
