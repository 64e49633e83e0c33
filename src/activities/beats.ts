import { Context } from '@temporalio/activity';
import type { StageInput } from '../core/run.js';
import type { JsonObject } from '../ports/stage.js';

/** Beats once a second, or more often where the heartbeat timeout is short: three may be lost before it strikes. */
export const BEAT_MS = 1_000;
const BEATS_PER_TIMEOUT = 4;

export interface Beats {
  /** What Temporal is shown from the next beat on. */
  report(progress: JsonObject): void;
  /** Whether this process ever let the heartbeat timeout pass without a beat: it was frozen, or its event loop was blocked. */
  wasSilent(): boolean;
  stop(): void;
}

/** Tells Temporal that the attempt lives, from before its claim to after its commit: a database that is slow to answer must not
 *  look like a dead worker, or healthy items would be counted as crashed, and in the end as poison. */
export function startBeats(input: StageInput): Beats {
  const context = Context.current();
  let latest: JsonObject | undefined;
  // A local activity has no heartbeat.
  if (context.info.isLocal) return { report: () => undefined, wasSilent: () => false, stop: () => undefined };
  const every = Math.min(BEAT_MS, input.beatsMs / BEATS_PER_TIMEOUT);
  let lastAt = performance.now();
  let longestMs = 0;
  const timer = setInterval(() => {
    look();
    lastAt = performance.now();
    context.heartbeat(latest);
  }, every);
  function look(): void {
    longestMs = Math.max(longestMs, performance.now() - lastAt);
  }
  return {
    report(progress) {
      latest = progress;
    },
    wasSilent() {
      look();
      return longestMs >= input.beatsMs;
    },
    stop() {
      clearInterval(timer);
    },
  };
}
