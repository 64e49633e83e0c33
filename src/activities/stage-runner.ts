import { randomUUID } from 'node:crypto';
import { type ActivityFunction, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Pipeline } from '../core/pipeline.js';
import type { RunActivities, StageInput } from '../core/run.js';
import type { Step } from '../core/step.js';
import type { Attempt, Claimed } from '../db/spine/attempt.js';
import { type Claim, claimTask } from '../db/spine/claim/claim.js';
import { markRunEnded } from '../db/spine/item-row.js';
import { nextStep } from '../db/spine/next-step.js';
import type { AnyStage } from '../ports/stage.js';
import { type Beats, startBeats } from './beats.js';
import { retryPatiently } from './patience.js';
import { reportUnknownItem } from './report-unknown-item.js';
import { commitEnding } from './settle.js';
import { findUnansweredClaim, leaveUnansweredClaim } from './unanswered-claim.js';
import { watchStage } from './watch.js';

export interface RunnerDeps {
  pool: pg.Pool;
  pipeline: Pipeline;
  stages: Readonly<Record<string, AnyStage>>;
  /** This worker process, as `workers` knows it. */
  worker: string;
  logger: Logger;
}

/** A hold up to this long ends the attempt and lets Temporal try again, and nothing shortens that wait. The run itself waits for a
 *  longer hold, because it is woken when somebody ends the hold. */
const SHORT_HOLD_MS = 5_000;

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
  };
  const beats = startBeats(input);
  try {
    const claim = await reportUnknownItem(deps, input, () => claimPatiently(deps, attempt));
    return claim.is === 'run'
      ? await attemptStage(deps, stage, { beats, input, claimed: claim.claimed })
      : stepWithoutRun(claim, input, info.isLocal);
  } finally {
    beats.stop();
  }
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
      throw ApplicationFailure.create({ message: claim.reason, type: 'hold', nextRetryDelay: claim.forMs });
  }
}

interface Taken {
  beats: Beats;
  input: StageInput;
  claimed: Claimed;
}

async function attemptStage(deps: RunnerDeps, stage: AnyStage, { beats, input, claimed }: Taken): Promise<Step> {
  const { pool, pipeline } = deps;
  const logger = deps.logger.child({ item: claimed.itemId, stage: claimed.stage, unit: claimed.unit || undefined });
  const watch = watchStage({ pool, pipeline, logger, beats }, input, claimed);
  try {
    const ending = await watch.run(stage);
    if (ending === 'superseded') return { do: 'next' };
    return await commitEnding({ pool, pipeline, logger, released: watch.released }, claimed, ending);
  } finally {
    watch.stop();
  }
}
