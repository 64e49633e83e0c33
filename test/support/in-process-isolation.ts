import type { AttemptDeps } from '../../src/activities/attempt-stage.js';
import type { Isolation, Report, StopWhy } from '../../src/activities/isolation.js';
import { serveIsolated } from '../../src/activities/serve-isolated.js';
import type { AnyStage } from '../../src/ports/stage.js';

/** Runs isolated stages in this process, for tests whose stages are functions of the test. Killing one only makes it look dead: the
 *  stage goes on, and its commit must be refused by the fence. */
export function inProcessIsolation(
  deps: AttemptDeps & { stages: Readonly<Record<string, AnyStage>> },
  places = 4,
): Isolation {
  return {
    places,
    start(work) {
      let listen: (report: Report) => void = () => undefined;
      let stop: (why: StopWhy) => void = () => undefined;
      let end: (how: string) => void = () => undefined;
      const ended = new Promise<string>((resolve) => {
        end = resolve;
      });
      const link = {
        report: (report: Report) => listen(report),
        onStop: (listener: (why: StopWhy) => void) => (stop = listener),
      };
      // A real process reports nothing before its worker listens.
      void Promise.resolve()
        .then(() => serveIsolated(deps, work, link))
        .then(
          () => end('ended with code 0'),
          () => end('ended with code 1'),
        );
      return {
        onReport: (listener) => (listen = listener),
        askToStop: (why) => stop(why),
        kill: () => end('was ended by SIGKILL'),
        ended,
      };
    },
  };
}
