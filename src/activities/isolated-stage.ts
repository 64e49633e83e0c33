import type { StageInput } from '../core/run.js';
import { blameTask } from '../db/spine/own-death.js';
import { type AttemptDeps, attemptLogger, type Taken } from './attempt-stage.js';
import { beatEveryMs } from './beats.js';
import { errorEnding } from './ending.js';
import type { IsolatedProcess, Isolation, StopWhy } from './isolation.js';
import { LateSignal } from './late-signal.js';
import { endlessWaits, retryPatiently } from './patience.js';
import { commitEnding, type Settled } from './settle.js';
import { isGivenUpForSilence } from './watch.js';

/** Loading the code of a stage takes a second or two. Only a badly overloaded machine takes this long. */
const START_MS = 60_000;

/** A process that was asked to stop gives its task back within milliseconds, unless its event loop is blocked. The worker itself may
 *  be killed 5 s after it was asked to stop. */
const STOP_MS = 3_000;

/** Nobody else can take the task of a process that died, so the next attempt comes at once. */
const AFTER_DEATH_MS = 50;

/** Runs a suspect in a process of its own. The beats of this activity go on until the process is gone and its death is written, so
 *  that Temporal gives the task to nobody else before that. */
export async function runIsolated(deps: AttemptDeps & { isolation: Isolation }, taken: Taken): Promise<Settled> {
  const { input, claimed } = taken;
  const process = deps.isolation.start({ pipeline: deps.pipeline.name, input, claimed });
  const released = new LateSignal();
  const end = await watchIsolated(process, taken, () => released.abort());
  if (end.settled) return end.settled;
  if (end.stopped === 'superseded') return { is: 'step', step: { do: 'next' } };

  const { pool, pipeline } = deps;
  const logger = attemptLogger(deps.logger, claimed);
  const settle = { pool, pipeline, logger, released };
  if (end.stopped) return commitEnding(settle, claimed, { is: 'released', why: end.stopped });
  if (!end.hasBegun) {
    const error = new Error(`the process for ${claimed.stage} did not start: it ${end.how}`);
    return commitEnding(settle, claimed, errorEnding(pipeline, claimed, error));
  }
  logger.warn({ how: end.how }, 'isolated process died');
  const blamed = await retryPatiently(() => blameTask(pool, pipeline, claimed, end), endlessWaits(), released);
  if (blamed !== 'blamed') return { is: 'step', step: { do: 'next' } };
  return { is: 'retry', errorClass: 'WORKER_CRASH', message: `its process ${end.how}`, retryInMs: AFTER_DEATH_MS };
}

interface End {
  how: string;
  isSilent: boolean;
  hasBegun: boolean;
  settled: Settled | undefined;
  /** Why this attempt was asked to stop, if it was. Then nobody is to blame for the end of the process. */
  stopped: StopWhy | undefined;
}

/** Waits for the end of the process, passes its progress on, asks it to stop when this attempt has to stop, and kills it when it says
 *  nothing for the heartbeat timeout. The silence is counted in ticks of our own timer, so that a freeze of both processes blames
 *  nobody. */
async function watchIsolated(
  process: IsolatedProcess,
  { host, beats, input }: Taken,
  onReleased: () => void,
): Promise<End> {
  const end: End = { how: '', isSilent: false, hasBegun: false, settled: undefined, stopped: undefined };
  const tickMs = beatEveryMs(input.beatsMs);
  let silentTicks = 0;
  let killing: NodeJS.Timeout | undefined;
  process.onReport((report) => {
    silentTicks = 0;
    if (report.said === 'begun') end.hasBegun = true;
    else if (report.said === 'settled') end.settled = report.settled;
    else if (report.progress) beats.report(report.progress);
  });
  host.onStop((why) => {
    end.stopped = why !== 'superseded' && isGivenUpForSilence(why, beats) ? 'superseded' : why;
    if (end.stopped !== 'lost_sight') onReleased();
    process.askToStop(end.stopped);
    killing = setTimeout(() => process.kill(), STOP_MS);
  });
  const ticks = setInterval(() => {
    silentTicks += 1;
    if (silentTicks * tickMs < silenceMs(end.hasBegun, input)) return;
    end.isSilent = true;
    process.kill();
  }, tickMs);
  const how = await process.ended;
  clearInterval(ticks);
  clearTimeout(killing);
  return { ...end, how: end.isSilent ? `said nothing for ${silenceMs(end.hasBegun, input) / 1_000} s` : how };
}

function silenceMs(hasBegun: boolean, { beatsMs }: StageInput): number {
  return hasBegun ? beatsMs : START_MS;
}
