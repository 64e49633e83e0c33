import type { StageInput } from '../core/run.js';
import type { JsonObject } from '../ports/stage.js';
import type { AttemptHost } from './attempt-host.js';

/** An attempt beats once a second, or more often where the heartbeat timeout is short: three beats may be lost before it strikes. */
export const BEAT_MS = 1_000;
const BEATS_PER_TIMEOUT = 4;

/** How often an attempt beats whose heartbeat timeout is this long. */
export function beatEveryMs(beatsMs: number): number {
  return Math.min(BEAT_MS, beatsMs / BEATS_PER_TIMEOUT);
}

export interface Beats {
  /** Shows the host this progress from the next beat on. */
  report(progress: JsonObject): void;
  /** Whether this process ever let the heartbeat timeout pass without a beat, because it was frozen or its event loop was blocked. */
  wasSilent(): boolean;
  /** Whether such a silence has only just ended: Temporal may have given the attempt up and has had no time to say so. */
  isWaking(): boolean;
  stop(): void;
}

/** Tells the host that the attempt lives, from before its claim to after its commit. A database that is slow to answer must not look
 *  like a dead worker, or healthy items would count as crashed and in the end as poison. */
export function startBeats(host: AttemptHost, { beatsMs }: Pick<StageInput, 'beatsMs'>): Beats {
  let latest: JsonObject | undefined;
  // A local activity has no heartbeat.
  if (host.isLocal)
    return { report: () => undefined, wasSilent: () => false, isWaking: () => false, stop: () => undefined };
  const every = beatEveryMs(beatsMs);
  let lastAt = performance.now();
  let longestMs = 0;
  let wokeAt = -Infinity;
  const timer = setInterval(() => {
    look();
    lastAt = performance.now();
    host.beat(latest);
  }, every);
  function look(): void {
    const now = performance.now();
    if (now - lastAt >= beatsMs) wokeAt = now;
    longestMs = Math.max(longestMs, now - lastAt);
  }
  return {
    report(progress) {
      latest = progress;
    },
    wasSilent() {
      look();
      return longestMs >= beatsMs;
    },
    isWaking() {
      look();
      return performance.now() - wokeAt < beatsMs;
    },
    stop() {
      clearInterval(timer);
    },
  };
}
