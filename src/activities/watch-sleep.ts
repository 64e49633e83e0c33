/** How often the process looks at the clock. */
const TICK_MS = 100;

/** Tasks that came while the process stood still are begun within this time after it goes on. */
const KEPT_MS = 500;

/** Notices that this process stood still: it was frozen, or its event loop was blocked. Returns for how long it has just stood still. */
export function watchSleep(clock = (): number => performance.now()): () => number {
  let last = clock();
  let slept = { ms: 0, endedAt: -Infinity };
  function look(): number {
    const now = clock();
    const ms = now - last - TICK_MS;
    last = now;
    if (ms > slept.ms || now - slept.endedAt > KEPT_MS) slept = { ms, endedAt: now };
    return Math.max(0, slept.ms);
  }
  setInterval(look, TICK_MS).unref();
  return look;
}
