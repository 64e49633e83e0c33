import {
  ActivityNotFoundError,
  type Client,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowHandle,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { ApplicationFailure, TypedSearchAttributes } from '@temporalio/common';
import { AppError } from '../core/errors.js';
import {
  INSTALLATION_MEMO,
  isForeign,
  type Membership,
  NO_MEMBERSHIP,
  nameIn,
  plainNameIn,
} from '../core/installation.js';
import { type RunRef, type RunStart, runOfWorkflowId, workflowIdOf } from '../core/run.js';
import type { Engine } from '../ports/engine.js';
import { createLevelProbe } from './level-probe.js';
import { findIndexedRuns } from './indexed-runs.js';
import { queueStatus } from './queue-status.js';
import { runPriorityOf } from './run-priority.js';
import { describeRun } from './run-status.js';
import { ensureSearchAttribute, PIPELINE_ATTRIBUTE } from './search-attributes.js';
import { taskQueueOf } from './task-queues.js';

/** The workflow type that drives every item, and the signal that tells a run to look at its row. */
const RUN_ITEM = 'run-item';
const WAKE = 'wake';

/** If Temporal does not answer a call within this time, it counts as away. */
export const CALL_LIMIT_MS = 5_000;

/** The time that is lost, once for each run, when a frozen worker has taken a workflow task. Temporal's default of 10 s
 *  would be felt. Replaying the longest history (2,000 units) takes less than this. */
const TASK_TIMEOUT_MS = 5_000;

/** Long enough that the failure is recorded before the next attempt begins, and too short to be felt. */
const DEAD_RETRY_MS = 5;

/** When a stage runs as a local activity, a killed worker costs a whole workflow task timeout. Such stages take well
 *  under two seconds. */
const SHORT_TASK_TIMEOUT_MS = 2_000;

export interface EngineOptions {
  /** Whether the pipeline has `short` stages. */
  isShort?(pipeline: string): boolean;
  /** Instead of CALL_LIMIT_MS. */
  callLimitMs?: number;
  /** Left out: the program is alone in its namespace. */
  membership?: Membership;
}

export function createTemporalEngine(client: Client, options: EngineOptions = {}): Engine {
  let hasAttribute: Promise<boolean> | undefined;
  const limitMs = options.callLimitMs ?? CALL_LIMIT_MS;
  const own = options.membership ?? NO_MEMBERSHIP;
  const heeds = createLevelProbe(client, nameIn(own.name, 'level-probe'));
  const handleOf = (run: RunRef) => client.workflow.getHandle(nameIn(own.name, workflowIdOf(run)));
  const answered = <T>(call: () => Promise<T>) => callUnlessAway(client, limitMs, call);
  /** Makes no call while it is not known whether this installation may use the namespace. */
  const admitted = <T>(call: () => Promise<T>) =>
    answered(() => {
      own.id();
      return call();
    });

  /** Asks once, and again after a failure, because Temporal was away then. */
  function attributeIsThere(): Promise<boolean> {
    hasAttribute ??= ensureSearchAttribute(client).catch((error: unknown) => {
      hasAttribute = undefined;
      throw error;
    });
    return hasAttribute;
  }

  return {
    start: (run) =>
      admitted(async () => {
        const withAttribute = await attributeIsThere();
        const taskTimeoutMs = options.isShort?.(run.pipeline) ? SHORT_TASK_TIMEOUT_MS : TASK_TIMEOUT_MS;
        try {
          await startRun(client, run, { own, withAttribute, taskTimeoutMs });
        } catch (error) {
          // The attribute may be gone, together with the store that knew it, so the next start asks for it again.
          hasAttribute = undefined;
          throw error;
        }
      }),
    wake: (run) => admitted(() => unlessGone(async () => handleOf(run).signal(WAKE))),
    end: (run) =>
      admitted(async () => {
        await unlessGone(async () => unlessForeign(handleOf(run), own.id(), (handle) => handle.cancel()));
      }),
    terminate: (run, why) =>
      admitted(async () => {
        await unlessGone(async () => unlessForeign(handleOf(run), own.id(), (handle) => handle.terminate(why)));
      }),
    describe: (run) => admitted(() => describeRun(client, handleOf(run), own.id())),
    findRuns: (runs) => admitted(() => findIndexedRuns(client, runs, own)),
    queue: (pipeline) => answered(() => queueStatus(client, nameIn(own.name, taskQueueOf(pipeline)))),
    openRuns: (pipeline) => openRuns(client, pipeline, own),
    failAttempt: (token, why) => admitted(() => failAttempt(client, token, why)),
    resetSticky: (run) =>
      admitted(async () => {
        const { namespace } = client.options;
        const execution = { workflowId: handleOf(run).workflowId };
        await unlessGone(() => client.workflowService.resetStickyTaskQueue({ namespace, execution }));
      }),
    heedsPriorities: () => admitted(heeds),
    ping: () =>
      answered(async () => {
        await client.connection.workflowService.getSystemInfo({});
      }),
  };
}

/** Lists open runs by workflow id and not by the search attribute, which a hosted Temporal may not have. Runs of another installation
 *  are left out. */
async function* openRuns(
  client: Client,
  pipeline: string,
  own: Membership,
): AsyncIterable<RunRef & { startedAt: Date }> {
  const prefix = nameIn(own.name, `${pipeline}:`);
  const query = `ExecutionStatus = "Running" AND WorkflowType = "${RUN_ITEM}" AND WorkflowId STARTS_WITH "${prefix}"`;
  try {
    for await (const { workflowId, startTime, memo } of client.workflow.list({ query })) {
      const run = runOfWorkflowId(plainNameIn(own.name, workflowId) ?? '');
      if (run && !isForeign(memo, own.id())) yield { ...run, startedAt: startTime };
    }
  } catch (error) {
    throw engineUnavailable(error);
  }
}

/** Fails the attempt with a retry at once, because the caller knows that the attempt's worker is dead. */
async function failAttempt(client: Client, token: Uint8Array, why: string): Promise<boolean> {
  try {
    await client.activity.fail(
      token,
      ApplicationFailure.create({ message: why, type: 'worker_died', nextRetryDelay: DEAD_RETRY_MS }),
    );
    return true;
  } catch (error) {
    if (error instanceof ActivityNotFoundError) return false;
    throw error;
  }
}

interface StartOptions {
  own: Membership;
  withAttribute: boolean;
  taskTimeoutMs: number;
}

async function startRun(client: Client, asked: RunStart, options: StartOptions): Promise<void> {
  const { own, withAttribute, taskTimeoutMs } = options;
  const { owner, priority, ...run } = asked;
  const installation = own.id();
  try {
    await client.workflow.start(RUN_ITEM, {
      workflowId: nameIn(own.name, workflowIdOf(run)),
      taskQueue: nameIn(own.name, taskQueueOf(run.pipeline)),
      args: [installation === undefined ? run : { ...run, installation }],
      ...(installation !== undefined && { memo: { [INSTALLATION_MEMO]: installation } }),
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
      workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
      staticSummary: summaryOf(run),
      workflowTaskTimeout: taskTimeoutMs,
      priority: runPriorityOf({ owner, priority }),
      ...(withAttribute && {
        typedSearchAttributes: new TypedSearchAttributes([{ key: PIPELINE_ATTRIBUTE, value: run.pipeline }]),
      }),
    });
  } catch (error) {
    // The id names the epoch, so a run that exists or existed under it is this run.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** A copied database has items of the same ids. A run of the original must go on. */
async function unlessForeign(
  handle: WorkflowHandle,
  own: string | undefined,
  end: (handle: WorkflowHandle) => Promise<unknown>,
): Promise<void> {
  if (own !== undefined && isForeign((await handle.describe()).memo, own)) return;
  await end(handle);
}

function summaryOf({ pipeline, itemId, epoch }: RunRef): string {
  return `${pipeline} ${itemId}${epoch > 1 ? `, run ${epoch}` : ''}`;
}

async function unlessGone(call: () => Promise<unknown>): Promise<boolean> {
  try {
    await call();
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || isNotFound(error)) return false;
    throw error;
  }
}

/** The raw service reports this code where the client throws an error class of its own. */
function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === GRPC_NOT_FOUND;
}
const GRPC_NOT_FOUND = 5;

/** Reports every failure of a call as an unavailable engine. The call itself handles the errors that are expected
 *  answers. */
export async function callUnlessAway<T>(client: Client, limitMs: number, call: () => Promise<T>): Promise<T> {
  try {
    return await client.connection.withDeadline(Date.now() + limitMs, call);
  } catch (error) {
    throw engineUnavailable(error);
  }
}

export function engineUnavailable(cause: unknown): AppError {
  return new AppError('engine_unavailable', 'Temporal does not answer', { cause });
}
