import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { AppError } from '../core/errors.js';
import { type RunInput, type RunRef, workflowIdOf } from '../core/run.js';
import type { Engine } from '../ports/engine.js';
import { ensureSearchAttribute, PIPELINE_ATTRIBUTE } from './search-attributes.js';
import { taskQueueOf } from './task-queues.js';

/** The workflow type every item is walked by, and the signal that tells it to look at its row. */
const RUN_ITEM = 'run-item';
const WAKE = 'wake';

/** A call that Temporal does not answer in this time counts as Temporal being away. */
const CALL_LIMIT_MS = 5_000;

/** What a workflow task that a frozen worker took costs, once for each of its runs. Temporal's own 10 s would be felt; replaying
 *  the longest history (2,000 units) takes less than this. */
const TASK_TIMEOUT_MS = 5_000;

/** Where a stage runs as a local activity, a killed worker costs a whole workflow task timeout; such stages take well under two
 *  seconds. */
const SHORT_TASK_TIMEOUT_MS = 2_000;

export interface EngineOptions {
  /** Whether the pipeline has `short` stages. */
  isShort?(pipeline: string): boolean;
  /** Instead of CALL_LIMIT_MS. */
  callLimitMs?: number;
}

export function createTemporalEngine(client: Client, options: EngineOptions = {}): Engine {
  let hasAttribute: Promise<boolean> | undefined;
  const limitMs = options.callLimitMs ?? CALL_LIMIT_MS;
  const answered = <T>(call: () => Promise<T>) => unlessAway(client, limitMs, call);

  /** Asked once; asked again after a failure, because Temporal was away. */
  function attributeIsThere(): Promise<boolean> {
    hasAttribute ??= ensureSearchAttribute(client).catch((error: unknown) => {
      hasAttribute = undefined;
      throw error;
    });
    return hasAttribute;
  }

  return {
    start: (run) =>
      answered(async () => {
        const withAttribute = await attributeIsThere();
        const taskTimeoutMs = options.isShort?.(run.pipeline) ? SHORT_TASK_TIMEOUT_MS : TASK_TIMEOUT_MS;
        await startRun(client, run, withAttribute, taskTimeoutMs);
      }),
    wake: (run) => answered(() => unlessGone(async () => client.workflow.getHandle(workflowIdOf(run)).signal(WAKE))),
    end: (run) =>
      answered(async () => {
        await unlessGone(async () => client.workflow.getHandle(workflowIdOf(run)).cancel());
      }),
    ping: () =>
      answered(async () => {
        await client.connection.workflowService.getSystemInfo({});
      }),
  };
}

async function startRun(client: Client, run: RunInput, withAttribute: boolean, taskTimeoutMs: number): Promise<void> {
  try {
    await client.workflow.start(RUN_ITEM, {
      workflowId: workflowIdOf(run),
      taskQueue: taskQueueOf(run.pipeline),
      args: [run],
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
      workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
      staticSummary: summaryOf(run),
      workflowTaskTimeout: taskTimeoutMs,
      ...(withAttribute && {
        typedSearchAttributes: new TypedSearchAttributes([{ key: PIPELINE_ATTRIBUTE, value: run.pipeline }]),
      }),
    });
  } catch (error) {
    // The id names the epoch: a run that is there, or was, is this one.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

function summaryOf({ pipeline, itemId, epoch }: RunRef): string {
  return `${pipeline} ${itemId}${epoch > 1 ? `, run ${String(epoch)}` : ''}`;
}

async function unlessGone(call: () => Promise<unknown>): Promise<boolean> {
  try {
    await call();
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

async function unlessAway<T>(client: Client, limitMs: number, call: () => Promise<T>): Promise<T> {
  try {
    return await client.connection.withDeadline(Date.now() + limitMs, call);
  } catch (error) {
    throw new AppError('engine_unavailable', 'Temporal does not answer', { cause: error });
  }
}
