import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../core/errors.js';
import type { AnyStage } from '../ports/stage.js';
import type { AttemptHost } from './attempt-host.js';
import { type AttemptDeps, attemptStage } from './attempt-stage.js';
import { startBeats } from './beats.js';
import type { IsolatedWork, WorkerLink } from './isolation.js';

/** An aborted stage may take this long to put its things away, such as a temporary folder. The worker ends a process that was asked to
 *  stop after three seconds. */
const CLEAN_UP_MS = 1_000;

/** Runs the one stage of this process as its worker would, and reports beats, progress and the end to the worker. */
export async function serveIsolated(
  deps: AttemptDeps & { stages: Readonly<Record<string, AnyStage>> },
  { input, claimed }: IsolatedWork,
  link: WorkerLink,
): Promise<void> {
  const stage = deps.stages[claimed.stage];
  if (!stage) throw new RangeError(`this version has no stage ${claimed.stage}`);
  const host: AttemptHost = {
    isLocal: false,
    beat: (progress) => link.report({ said: 'beat', progress }),
    onStop: (stop) => link.onStop(stop),
  };
  const beats = startBeats(host, input);
  let running: Promise<unknown> = Promise.resolve();
  const watched: AnyStage = (context) => {
    const run = stage(context);
    running = run.catch(() => undefined);
    return run;
  };
  link.report({ said: 'begun' });
  try {
    const settled = await attemptStage(deps, watched, { host, beats, input, claimed });
    await Promise.race([running, delay(CLEAN_UP_MS)]);
    link.report({ said: 'settled', settled });
  } catch (error) {
    link.report({ said: 'failed', message: messageOf(error) });
  } finally {
    beats.stop();
  }
}
