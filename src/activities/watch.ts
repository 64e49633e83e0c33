import type pg from 'pg';
import type { Logger } from 'pino';
import { AppError } from '../core/errors.js';
import { stageOf } from '../core/machine.js';
import type { Pipeline } from '../core/pipeline.js';
import type { StageInput } from '../core/run.js';
import { msOf } from '../core/span.js';
import { isTransient } from '../db/postgres/database-fault.js';
import type { Claimed, Ending, ReleasedWhy } from '../db/spine/attempt.js';
import { beatTask, keepCheckpoint, keepEffect } from '../db/spine/beat.js';
import { claimAgain } from '../db/spine/claim/claim-again.js';
import type { Statement } from '../ports/sql.js';
import type { AnyStage, Json, JsonObject, StageContext } from '../ports/stage.js';
import type { AttemptHost } from './attempt-host.js';
import { BEAT_MS, type Beats } from './beats.js';
import { errorEnding } from './ending.js';
import { LateSignal } from './late-signal.js';
import { endlessWaits, type GiveUp, retryPatiently } from './patience.js';
import { type Reading, runReading } from './patient-reads.js';

/** The stage took longer than its row allows, or said nothing for too long. */
class StageTimeout extends Error {
  override readonly name = 'StageTimeout';
}

interface WatchDeps {
  host: AttemptHost;
  beats: Beats;
  pool: pg.Pool;
  pipeline: Pipeline;
  logger: Logger;
}

/** The row is beaten less often than Temporal, because it only has to stay younger than the owner's stale threshold. */
const ROW_BEATS_PER_TIMEOUT = 2;

/** How often an attempt beats its row whose heartbeat timeout is this long. */
export function rowBeatEveryMs(beatsMs: number): number {
  return Math.max(BEAT_MS, beatsMs / ROW_BEATS_PER_TIMEOUT);
}

export interface Watch {
  /** Superseded: another attempt holds the task now, or the item has moved on, so that nothing may be written. */
  run(stage: AnyStage): Promise<Ending | 'superseded'>;
  /** Aborted when the worker shuts down or the run was cancelled: from then on no write is waited for. */
  released: GiveUp;
  stop(): void;
}

/** Beats while the stage runs, and aborts the stage when its time is up, when it falls silent, when the worker shuts down, or when
 *  the row says that this attempt no longer holds the task. */
export function watchStage(deps: WatchDeps, input: StageInput, claimed: Claimed): Watch {
  const { row } = stageOf(deps.pipeline, claimed.stage);
  const halt = new LateSignal();
  const released = new LateSignal();
  const timers: NodeJS.Timeout[] = [];
  let isOver = false;
  let report: JsonObject | null = null;
  let silence: NodeJS.Timeout | undefined;
  let stop: (ending: Ending | 'superseded') => void = () => undefined;
  const stopped = new Promise<Ending | 'superseded'>((resolve) => {
    stop = resolve;
  });

  function abort(ending: Ending | 'superseded', reason: Error): void {
    stop(ending);
    halt.abort(reason);
  }
  function abortFailed(error: Error): void {
    abort(errorEnding(deps.pipeline, claimed, error), error);
  }
  function abortSuperseded(): void {
    abort('superseded', new Error('superseded'));
  }
  function abortSilent(): void {
    abortFailed(new StageTimeout(`${claimed.stage} reported no progress for ${row.progressWithin ?? ''}`));
  }
  function armSilence(): void {
    clearTimeout(silence);
    // A stage that ignores its signal may report long after its attempt has ended.
    if (isOver) return;
    if (row.progressWithin) silence = setTimeout(abortSilent, msOf(row.progressWithin));
  }
  async function beatRow(): Promise<void> {
    // The next claim may be on its way and must find the row as silent as this process was. A fresh beat would say that all was well.
    if (deps.beats.isWaking()) return;
    const latest = report;
    report = null;
    try {
      if (!(await beatTask(deps.pool, claimed, latest)) && !(await holdAgain())) abortSuperseded();
    } catch (error) {
      // The database is away: the stage goes on, and its commit will wait or fail by itself.
      deps.logger.warn({ err: error }, 'beat could not be written');
    }
  }

  function holdAgain(): Promise<boolean> {
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
      abortFailed(timeoutOf(claimed.stage, row.within, reading));
    }, input.withinMs),
  );
  if (!deps.host.isLocal) {
    timers.push(setInterval(() => void beatRow(), rowBeatEveryMs(input.beatsMs)));
  }
  armSilence();
  deps.host.onStop((why) => {
    if (why === 'superseded' || isGivenUpForSilence(why, deps.beats)) return abortSuperseded();
    // Where Temporal was away the database may be away too. Finished work waits for the database, and its fence decides whether it may
    // still be committed.
    if (why !== 'lost_sight') released.abort();
    abort({ is: 'released', why }, new Error('released'));
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

  function keep(checkpoint: Json, save?: Statement): Promise<void> {
    return save ? keepWith(save, checkpoint) : keepAlone(checkpoint);
  }

  /** The stage goes on only behind an effect that is written. */
  async function keepWith(save: Statement, checkpoint: Json): Promise<void> {
    const write = () => retryPatiently(() => keepEffect(deps.pool, claimed, checkpoint, save), endlessWaits(), halt);
    if ((await write()) || ((await holdAgain()) && (await write()))) return;
    refuseKeep();
  }

  /** A checkpoint only spares the next attempt some work, so this attempt goes on where it can't be kept. */
  async function keepAlone(checkpoint: Json): Promise<void> {
    if (deps.beats.isWaking()) return;
    try {
      if (await keepCheckpoint(deps.pool, claimed, checkpoint)) return;
      if ((await holdAgain()) && (await keepCheckpoint(deps.pool, claimed, checkpoint))) return;
    } catch (error) {
      if (!isTransient(error)) throw error;
      deps.logger.warn({ err: error }, 'checkpoint could not be kept');
      return;
    }
    refuseKeep();
  }

  function refuseKeep(): never {
    abortSuperseded();
    throw new Error('this attempt has been superseded');
  }

  async function runStage(stage: AnyStage): Promise<Ending | 'superseded'> {
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
      return { is: 'done', ...(await runReading(reading, () => stage(context))) };
    } catch (error) {
      // An aborted stage throws too. The reason of the abort counts then.
      if (halt.aborted) return stopped;
      return errorEnding(deps.pipeline, claimed, error instanceof Error ? error : new Error(String(error)));
    }
  }
}

/** A stage that waits for the database when its time is up is not to blame. */
function timeoutOf(stage: string, within: string, { pending }: Reading): Error {
  return pending > 0
    ? new AppError('database_unavailable', `${stage} waited for the database until its ${within} were over`)
    : new StageTimeout(`${stage} took longer than ${within}`);
}

/** If Temporal has given up an attempt that never fell silent, Temporal was away or out of reach: the attempt gives its task back at no
 *  cost, unless another attempt has it by now. An attempt that did fall silent leaves the task as it is, so that the next claim counts
 *  a stage that blocks worker after worker. */
export function isGivenUpForSilence(why: ReleasedWhy, beats: Beats): boolean {
  return why === 'lost_sight' && beats.wasSilent();
}
