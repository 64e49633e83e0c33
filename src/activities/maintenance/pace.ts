import { setTimeout as delay } from 'node:timers/promises';

/** The clock and the wait of a pace. */
export interface PaceClock {
  now(): number;
  waitMs(ms: number): Promise<unknown>;
}

const MONOTONIC: PaceClock = { now: () => performance.now(), waitMs: (ms) => delay(ms) };

/** Returns a function that gives turns, at most `perSecond` in a second, and resolves when the caller's turn has come. Callers that wait at
 *  the same time share the turns. A turn that nobody took is lost. */
export function createPace(perSecond: number, clock = MONOTONIC): () => Promise<void> {
  const everyMs = 1_000 / perSecond;
  let nextAt = clock.now();
  return async () => {
    const now = clock.now();
    const turnAt = Math.max(now, nextAt);
    nextAt = turnAt + everyMs;
    if (turnAt > now) await clock.waitMs(turnAt - now);
  };
}
