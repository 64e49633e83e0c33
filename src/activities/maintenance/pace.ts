import { setTimeout as delay } from 'node:timers/promises';

/** The clock and the wait of a pace. */
export interface PaceClock {
  now(): number;
  waitMs(ms: number): Promise<unknown>;
}

const MONOTONIC: PaceClock = { now: () => performance.now(), waitMs: (ms) => delay(ms) };

/** A function that ends at most `perSecond` times in a second, for callers that call it together too. Turns that nobody took are not
 *  made up for. */
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
