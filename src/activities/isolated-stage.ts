import { beatTask } from '../db/spine/beat.js';
import { blameTask, countUnbegun } from '../db/spine/own-death.js';
import { type AttemptDeps, attemptLogger, type Taken } from './attempt-stage.js';
import { beatEveryMs } from './beats.js';
import { unbegunEnding } from './ending.js';
import type { IsolatedProcess, Isolation, StopWhy } from './isolation.js';
import { LateSignal } from './late-signal.js';
import { endlessWaits, retryPatiently } from './patience.js';
import { commitEnding, type Settled } from './settle.js';
import { isGivenUpForSilence, rowBeatEveryMs } from './watch.js';

/** Loading the code of a stage takes a second or two. Only a badly overloaded machine takes this long. Temporal gives an attempt 30 s
 *  more than its stage (STAGE_GRACE_MS), so an attempt whose process does not start still says so. */
const START_MS = 20_000;

/** A process that was asked to stop gives its task back within milliseconds, unless its event loop is blocked. The worker itself may
 *  be killed 5 s after it was asked to stop. */
const STOP_MS = 3_000;

/** Nobody else can take the task of a process that died, so the next attempt comes at once. */
const AFTER_DEATH_MS = 50;

/** Runs a suspect in a process of its own. The beats of this activity go on until the process is gone and its death is written, so
 *  that Temporal gives the task to nobody else before that. */
export async function runIsolated(deps: AttemptDeps & { isolation: Isolation }, taken: Taken): Promise<Settled> {
  const { pool, pipeline } = deps;
  const { input, claimed } = taken;
  const logger = attemptLogger(deps.logger, claimed);
  const child = deps.isolation.start({ pipeline: pipeline.name, input, claimed });
  const stop = passStopOn(child, taken);
  const watch = watchChild(child, taken);
  const beats = beatUntilBegun(deps, taken, watch);
  const how = await child.ended;
  watch.stop();
  stop.forget();
  clearInterval(beats);

  if (watch.settled) return watch.settled;
  if (stop.why === 'superseded') return { is: 'step', step: { do: 'next' } };
  const settle = { pool, pipeline, logger, released: stop.released };
  if (stop.why) return commitEnding(settle, claimed, { is: 'released', why: stop.why });
  const death = {
    isSilent: watch.isSilent,
    how: watch.isSilent ? `said nothing for ${watch.silenceMs / 1_000} s` : how,
  };
  if (watch.failure !== undefined) throw new Error(watch.failure);
  if (!watch.hasBegun) {
    const before = await retryPatiently(() => countUnbegun(pool, claimed), endlessWaits(), stop.released);
    const why = `the process for ${claimed.stage} did not start: it ${death.how}`;
    return commitEnding(settle, claimed, unbegunEnding(pipeline, claimed, before, why));
  }
  logger.warn({ how: death.how }, 'isolated process died');
  const blamed = await retryPatiently(() => blameTask(pool, pipeline, claimed, death), endlessWaits(), stop.released);
  if (blamed !== 'blamed') return { is: 'step', step: { do: 'next' } };
  return { is: 'retry', errorClass: 'WORKER_CRASH', message: `its process ${death.how}`, retryInMs: AFTER_DEATH_MS };
}

interface Stop {
  /** Why this attempt was asked to stop, if it was. Then nobody is to blame for the end of the process. */
  readonly why: StopWhy | undefined;
  /** Aborted when no write may be waited for any longer. */
  released: LateSignal;
  forget(): void;
}

/** Asks the process to stop when this attempt has to, and kills it if it does not obey. Where Temporal was away, finished work in the
 *  process may wait for the database for as long as it must, so the process is not killed. */
function passStopOn(child: IsolatedProcess, { host, beats }: Taken): Stop {
  const released = new LateSignal();
  let why: StopWhy | undefined;
  let killing: NodeJS.Timeout | undefined;
  host.onStop((asked) => {
    why = asked !== 'superseded' && isGivenUpForSilence(asked, beats) ? 'superseded' : asked;
    if (why !== 'lost_sight') {
      released.abort();
      killing = setTimeout(() => child.kill(), STOP_MS);
    }
    child.askToStop(why);
  });
  return {
    get why() {
      return why;
    },
    released,
    forget: () => clearTimeout(killing),
  };
}

/** What the process has said, and whether it was killed for saying nothing. */
interface ChildWatch {
  hasBegun: boolean;
  isSilent: boolean;
  settled: Settled | undefined;
  /** Why the process could not commit. The attempt ends as it would in a worker: the next claim finds the task as it is. */
  failure: string | undefined;
  /** How long the process may say nothing. */
  readonly silenceMs: number;
  stop(): void;
}

/** Passes the progress of the process on, and kills the process when it says nothing for the heartbeat timeout. The silence is counted
 *  in ticks of our own timer, so that a freeze of both processes blames nobody. The first tick may follow a report at once, so it
 *  does not count. */
function watchChild(child: IsolatedProcess, { beats, input }: Taken): ChildWatch {
  const tickMs = beatEveryMs(input.beatsMs);
  let silentTicks = 0;
  const watch: ChildWatch = {
    hasBegun: false,
    isSilent: false,
    settled: undefined,
    failure: undefined,
    get silenceMs() {
      return watch.hasBegun ? input.beatsMs : START_MS;
    },
    stop: () => clearInterval(ticks),
  };
  const ticks = setInterval(() => {
    silentTicks += 1;
    if ((silentTicks - 1) * tickMs < watch.silenceMs) return;
    watch.isSilent = true;
    child.kill();
  }, tickMs);
  child.onReport((report) => {
    silentTicks = 0;
    if (report.said === 'begun') watch.hasBegun = true;
    else if (report.said === 'settled') watch.settled = report.settled;
    else if (report.said === 'failed') watch.failure = report.message;
    else if (report.progress) beats.report(report.progress);
  });
  return watch;
}

/** Beats the row until the process does it itself. A row that nobody beats would look like a silent worker, and the next claim would
 *  count a crash. */
function beatUntilBegun({ pool, logger }: AttemptDeps, { claimed, input }: Taken, watch: ChildWatch): NodeJS.Timeout {
  return setInterval(() => void beat(), rowBeatEveryMs(input.beatsMs));

  async function beat(): Promise<void> {
    if (watch.hasBegun || watch.isSilent) return;
    try {
      await beatTask(pool, claimed, null);
    } catch (error) {
      logger.warn({ err: error }, 'beat could not be written');
    }
  }
}
