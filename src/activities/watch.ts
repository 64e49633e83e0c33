import { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import type pg from 'pg';
import type { Logger } from 'pino';
import { AppError } from '../core/errors.js';
import { stageOf } from '../core/machine.js';
import type { Pipeline } from '../core/pipeline.js';
import type { StageInput } from '../core/run.js';
import { msOf } from '../core/span.js';
import type { Claimed } from '../db/spine/attempt.js';
import { beatTask, keepCheckpoint } from '../db/spine/beat.js';
import { claimAgain } from '../db/spine/claim/claim-again.js';
import { isTransient } from '../db/transient.js';
import { BEAT_MS, type Beats } from './beats.js';
import type { AnyStage, Json, JsonObject, StageContext, StageResult } from '../ports/stage.js';
import { LateSignal } from './late-signal.js';
import type { GiveUp } from './patience.js';
import { type Reading, readingFor } from './patient-reads.js';

/** The worker shuts down, the run was cancelled, or Temporal was away for too long and has given the attempt up. */
type ReleasedWhy = 'shutdown' | 'cancelled' | 'lost_sight';

/** How a stage's attempt came out, before anything is written. */
export type Settled =
  | { as: 'result'; result: StageResult }
  | { as: 'error'; error: Error }
  /** Nobody's fault. */
  | { as: 'released'; why: ReleasedWhy; cause: CancelledFailure }
  /** Another attempt holds the task now, or the item has moved on. */
  | { as: 'superseded' };

/** The stage took longer than its row allows, or said nothing for too long. */
class StageTimeout extends Error {
  override readonly name = 'StageTimeout';
}

interface WatchDeps {
  beats: Beats;
  pool: pg.Pool;
  pipeline: Pipeline;
  logger: Logger;
}

/** The row is beaten less often than Temporal: it only has to stay younger than the owner's stale threshold. */
const ROW_BEATS_PER_TIMEOUT = 2;

export interface Watch {
  run(stage: AnyStage): Promise<Settled>;
  /** Aborted when the worker shuts down or the run was cancelled: what is not written by then is not waited for. */
  released: GiveUp;
  stop(): void;
}

/** Beats while the stage's promise lives, and aborts it when its time is up, when it falls silent, when the worker shuts
 *  down, or when the row says that it is no longer ours. */
export function watchStage(deps: WatchDeps, input: StageInput, claimed: Claimed): Watch {
  const context = Context.current();
  const { row } = stageOf(deps.pipeline, claimed.stage);
  const halt = new LateSignal();
  const released = new LateSignal();
  const timers: NodeJS.Timeout[] = [];
  let isOver = false;
  let report: JsonObject | null = null;
  let silence: NodeJS.Timeout | undefined;
  let settle: (settled: Settled) => void = () => undefined;
  const stopped = new Promise<Settled>((resolve) => {
    settle = resolve;
  });

  function abort(settled: Settled): void {
    settle(settled);
    halt.abort(settled.as === 'error' ? settled.error : new Error(settled.as));
  }
  function abortSilent(): void {
    abort({
      as: 'error',
      error: new StageTimeout(`${claimed.stage} reported no progress for ${row.progressWithin ?? ''}`),
    });
  }
  function armSilence(): void {
    clearTimeout(silence);
    // A stage that ignores its signal may report long after its attempt has ended.
    if (isOver) return;
    if (row.progressWithin) silence = setTimeout(abortSilent, msOf(row.progressWithin));
  }
  async function beatRow(): Promise<void> {
    // The next claim must find the row as silent as we were: it may be on its way, and a fresh beat would say that all was well.
    if (deps.beats.isWaking()) return;
    const latest = report;
    report = null;
    try {
      if (!(await beatTask(deps.pool, claimed, latest)) && !(await holdsAgain())) abort({ as: 'superseded' });
    } catch (error) {
      // The database is away: the stage goes on, and its commit will wait or fail by itself.
      deps.logger.warn({ err: error }, 'beat could not be written');
    }
  }

  function holdsAgain(): Promise<boolean> {
    return isOver ? Promise.resolve(false) : claimAgain(deps.pool, deps.pipeline, claimed);
  }

  const reading: Reading = {
    pending: 0,
    get signal() {
      return halt.signal;
    },
  };
  timers.push(
    setTimeout(() => {
      abort({ as: 'error', error: timeoutOf(claimed.stage, row.within, reading) });
    }, input.withinMs),
  );
  if (!context.info.isLocal) {
    timers.push(setInterval(() => void beatRow(), Math.max(BEAT_MS, input.beatsMs / ROW_BEATS_PER_TIMEOUT)));
  }
  armSilence();
  context.cancelled.catch((error: unknown) => {
    if (!(error instanceof CancelledFailure)) return;
    const settled = settledOf(error, deps.beats);
    // Where Temporal was away the database may be too: what is done waits for it, and its fence decides whether it still may.
    if (settled.as === 'released' && settled.why !== 'lost_sight') released.abort();
    abort(settled);
  });

  return {
    run: (stage) => Promise.race([runStage(stage), stopped]),
    released,
    stop() {
      isOver = true;
      clearTimeout(silence);
      for (const timer of timers) clearInterval(timer);
    },
  };

  /** A checkpoint spares the next attempt some work: where it can't be kept, this one goes on all the same. */
  async function keep(checkpoint: Json): Promise<void> {
    if (deps.beats.isWaking()) return;
    try {
      if (await keepCheckpoint(deps.pool, claimed, checkpoint)) return;
      if ((await holdsAgain()) && (await keepCheckpoint(deps.pool, claimed, checkpoint))) return;
    } catch (error) {
      if (!isTransient(error)) throw error;
      deps.logger.warn({ err: error }, 'checkpoint could not be kept');
      return;
    }
    abort({ as: 'superseded' });
    throw new Error('this attempt has been superseded');
  }

  async function runStage(stage: AnyStage): Promise<Settled> {
    try {
      const context: StageContext = {
        item: { id: claimed.itemId, pipeline: deps.pipeline.name, owner: claimed.owner, visit: claimed.visit },
        unit: claimed.unit,
        attempt: claimed.attempt,
        checkpoint: (claimed.checkpoint ?? null) as Json,
        get signal() {
          return halt.signal;
        },
        progress(latest) {
          report = latest;
          deps.beats.report(latest);
          armSilence();
        },
        keep,
      };
      return { as: 'result', result: await readingFor(reading, () => stage(context)) };
    } catch (error) {
      // An aborted stage throws too; what counts then is why it was aborted.
      if (halt.aborted) return stopped;
      return { as: 'error', error: error instanceof Error ? error : new Error(String(error)) };
    }
  }
}

/** A stage that waits for the database when its time is up is not the one to blame. */
function timeoutOf(stage: string, within: string, { pending }: Reading): Error {
  return pending > 0
    ? new AppError('database_unavailable', `${stage} waited for the database until its ${within} were over`)
    : new StageTimeout(`${stage} took longer than ${within}`);
}

/** If Temporal has given up an attempt that never fell silent, it was away or out of reach, and the task is given back at no cost,
 *  unless another attempt has it by now. One that did fall silent leaves the task as it is: a stage that blocks worker after worker
 *  is counted by the next claim. */
function settledOf(cause: CancelledFailure, beats: Beats): Settled {
  const why = whyOf(cause);
  return why === 'lost_sight' && beats.wasSilent() ? { as: 'superseded' } : { as: 'released', why, cause };
}

/** Temporal cancels an activity for several reasons; it names them in the message. */
function whyOf({ message }: CancelledFailure): ReleasedWhy {
  if (message === 'WORKER_SHUTDOWN') return 'shutdown';
  return message === 'NOT_FOUND' || message === 'TIMED_OUT' ? 'lost_sight' : 'cancelled';
}
