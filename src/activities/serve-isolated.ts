import type { AnyStage } from '../ports/stage.js';
import type { AttemptHost } from './attempt-host.js';
import { type AttemptDeps, attemptStage } from './attempt-stage.js';
import { startBeats } from './beats.js';
import type { IsolatedWork, WorkerLink } from './isolation.js';

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
  link.report({ said: 'begun' });
  try {
    link.report({ said: 'settled', settled: await attemptStage(deps, stage, { host, beats, input, claimed }) });
  } finally {
    beats.stop();
  }
}
