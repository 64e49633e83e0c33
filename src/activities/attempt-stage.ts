import type pg from 'pg';
import type { Logger } from 'pino';
import type { Pipeline } from '../core/pipeline.js';
import type { StageInput } from '../core/run.js';
import type { Claimed } from '../db/spine/attempt.js';
import type { AnyStage } from '../ports/stage.js';
import type { AttemptHost } from './attempt-host.js';
import type { Beats } from './beats.js';
import { commitEnding, type Settled } from './settle.js';
import { watchStage } from './watch.js';

export interface AttemptDeps {
  pool: pg.Pool;
  pipeline: Pipeline;
  logger: Logger;
}

/** A granted claim, and who listens to its attempt. */
export interface Taken {
  host: AttemptHost;
  beats: Beats;
  input: StageInput;
  claimed: Claimed;
}

/** Runs the stage of a granted claim in this process and commits how it ended. */
export async function attemptStage(deps: AttemptDeps, stage: AnyStage, taken: Taken): Promise<Settled> {
  const { pool, pipeline } = deps;
  const { host, beats, input, claimed } = taken;
  const logger = attemptLogger(deps.logger, claimed);
  const watch = watchStage({ host, pool, pipeline, logger, beats }, input, claimed);
  try {
    const ending = await watch.run(stage);
    if (ending === 'superseded') return { is: 'step', step: { do: 'next' } };
    return await commitEnding({ pool, pipeline, logger, released: watch.released }, claimed, ending);
  } finally {
    watch.stop();
  }
}

export function attemptLogger(logger: Logger, { itemId, stage, unit }: Claimed): Logger {
  return logger.child({ item: itemId, stage, unit: unit || undefined });
}
