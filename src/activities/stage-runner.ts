import { randomUUID } from 'node:crypto';
import { type ActivityFunction, Context } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory, type CancelledFailure } from '@temporalio/common';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Pipeline } from '../core/pipeline.js';
import type { RunActivities, StageInput } from '../core/run.js';
import type { Step } from '../core/step.js';
import type { Attempt, ReleasedWhy } from '../db/spine/attempt.js';
import { type Claim, claimTask } from '../db/spine/claim/claim.js';
import { markRunEnded } from '../db/spine/item-row.js';
import { nextStep } from '../db/spine/next-step.js';
import type { AnyStage } from '../ports/stage.js';
import { temporalHost } from './attempt-host.js';
import { attemptStage } from './attempt-stage.js';
import { startBeats } from './beats.js';
import { runIsolated } from './isolated-stage.js';
import type { Isolation } from './isolation.js';
import { retryPatiently } from './patience.js';
import { reportUnknownItem } from './report-unknown-item.js';
import type { Settled } from './settle.js';
import { findUnansweredClaim, leaveUnansweredClaim } from './unanswered-claim.js';

export interface RunnerDeps {
  pool: pg.Pool;
  pipeline: Pipeline;
  stages: Readonly<Record<string, AnyStage>>;
  /** This worker process, as `workers` knows it. */
  worker: string;
  /** Where suspects run. */
  isolation: Isolation;
  /** For how long this process has just stood still. Without it, the process counts as awake. */
  sleptMs?: () => number;
  logger: Logger;
}

/** A hold up to this long ends the attempt and lets Temporal try again, and nothing shortens that wait. The run itself waits for a
 *  longer hold, because it is woken when somebody ends the hold. */
const SHORT_HOLD_MS = 5_000;

/** Another worker should take a released task at once. */
const RELEASED_RETRY_MS = 10;

/** Longer than a worker that has just stood still refuses tasks. Another worker may take the task meanwhile. */
const STALE_RETRY_MS = 600;

/** Ten seconds in all: during a rolling upgrade both versions run for longer, but each try may meet a worker of the new version. */
const UNKNOWN_STAGE_TRIES = 10;
const UNKNOWN_STAGE_RETRY_MS = 1_000;

/** The activities of one pipeline's worker: an activity for each stage, under the stage's name, and the activities that
 *  every run needs. */
export function createActivities(deps: RunnerDeps): Record<string, ActivityFunction> & RunActivities {
  const stages = Object.fromEntries(
    Object.entries(deps.stages).map(([name, stage]) => [name, (input: StageInput) => runStage(deps, stage, input)]),
  );
  return {
    ...stages,
    default: askRowAfterSomeTries,
    nextStep: (run) => reportUnknownItem(deps, run, () => nextStep(deps.pool, deps.pipeline, run)),
    endRun: (run) => markRunEnded(deps.pool, run),
  };
}

/** Answers for a stage that this version does not know. A newer worker may know it, so the task goes back a few times. After that, a
 *  changed table no longer has the stage, and the row says which stage comes instead. */
async function askRowAfterSomeTries(): Promise<Step> {
  const { attempt, activityType } = Context.current().info;
  if (attempt > UNKNOWN_STAGE_TRIES) return Promise.resolve({ do: 'next' });
  throw ApplicationFailure.create({
    message: `this worker has no stage ${activityType}`,
    type: 'unknown_stage',
    nextRetryDelay: UNKNOWN_STAGE_RETRY_MS,
  });
}

/** Makes one attempt: claims, runs the stage, commits. If the claim can't be written, the stage does not run. */
async function runStage(deps: RunnerDeps, stage: AnyStage, input: StageInput): Promise<Step> {
  const { info } = Context.current();
  if (!info.isLocal) refuseStaleTask(deps, input);
  const attempt: Attempt = {
    itemId: input.itemId,
    visit: input.visit,
    epoch: input.epoch,
    state: input.state,
    stage: input.stage,
    unit: input.unit,
    claimId: findUnansweredClaim() ?? randomUUID(),
    token: info.isLocal ? null : info.taskToken,
    scheduledAt: info.isLocal ? null : new Date(info.currentAttemptScheduledTimestampMs),
    isRetried: info.attempt > 1,
    worker: deps.worker,
    places: deps.isolation.places,
  };
  const host = temporalHost();
  const beats = startBeats(host, input);
  try {
    const claim = await reportUnknownItem(deps, input, () => claimPatiently(deps, attempt));
    if (claim.is !== 'run') return stepWithoutRun(claim, input, info.isLocal);
    const taken = { host, beats, input, claimed: claim.claimed };
    return stepOf(await (claim.claimed.isolated ? runIsolated(deps, taken) : attemptStage(deps, stage, taken)));
  } finally {
    beats.stop();
  }
}

/** A frozen worker's open polls take tasks, and Temporal gives each of them up after a heartbeat timeout. The worker wakes with them. If
 *  it claimed one, the next attempt would find a task that has just begun, and would count a crash of it. */
function refuseStaleTask({ sleptMs }: RunnerDeps, { beatsMs }: StageInput): void {
  if (sleptMs === undefined || sleptMs() < beatsMs / 2) return;
  throw ApplicationFailure.create({
    ...{
      message: 'the worker stood still and may have lost the task',
      type: 'released',
      nextRetryDelay: STALE_RETRY_MS,
    },
    category: ApplicationFailureCategory.BENIGN,
  });
}

async function claimPatiently({ pool, pipeline }: RunnerDeps, attempt: Attempt): Promise<Claim> {
  try {
    const giveUp = { signal: Context.current().cancellationSignal };
    return await retryPatiently(() => claimTask(pool, pipeline, attempt), undefined, giveUp);
  } catch (error) {
    leaveUnansweredClaim(attempt.claimId);
    throw error;
  }
}

function stepWithoutRun(claim: Exclude<Claim, { is: 'run' }>, input: StageInput, isLocal: boolean): Step {
  switch (claim.is) {
    case 'superseded':
      return { do: 'end', why: 'superseded' };
    case 'done':
      return claim.step;
    case 'hold':
      if (isLocal || claim.forMs > SHORT_HOLD_MS) {
        return { do: 'wait', state: input.state, forMs: claim.forMs, reason: claim.reason };
      }
      throw ApplicationFailure.create({
        ...{ message: claim.reason, type: 'hold', nextRetryDelay: claim.forMs },
        // Not logged as a warning: a suspect asks for a place many times.
        category: ApplicationFailureCategory.BENIGN,
      });
  }
}

/** Translates the end of an attempt for Temporal: the next step, or a failure after which the task is handed out again. */
function stepOf(settled: Settled): Step {
  switch (settled.is) {
    case 'step':
      return settled.step;
    case 'retry':
      throw ApplicationFailure.create({
        message: settled.message,
        type: settled.errorClass,
        nextRetryDelay: settled.retryInMs,
      });
    case 'released':
      throw givenBack(settled.why);
  }
}

/** A cancelled run is told that its activity was cancelled. Otherwise the task is wanted again. */
function givenBack(why: ReleasedWhy): Error {
  const cause = Context.current().cancellationSignal.reason as CancelledFailure;
  if (why === 'cancelled') return cause;
  return ApplicationFailure.create({ message: cause.message, type: 'released', nextRetryDelay: RELEASED_RETRY_MS });
}
