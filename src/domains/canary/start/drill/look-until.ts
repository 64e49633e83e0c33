import { setTimeout as pause } from 'node:timers/promises';
import { StartError } from '../../../../start/embedded/start-error.js';

export interface Wait {
  withinMs: number;
  everyMs: number;
  signal: AbortSignal;
}

/** Calls `look` until it returns something, and returns that. Null: the time is over. */
export async function lookUntil<T>(
  { withinMs, everyMs, signal }: Wait,
  look: () => Promise<T | null> | T | null,
): Promise<T | null> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    signal.throwIfAborted();
    const seen = await look();
    if (seen !== null || performance.now() > deadline) return seen;
    // The signal cuts the pause short, and throwIfAborted then throws its reason.
    await pause(everyMs, undefined, { signal }).catch(() => undefined);
  }
}

/** The same, for a look without whose result the drill can't go on. */
export async function mustSee<T>(wait: Wait, sentence: string, look: () => Promise<T | null> | T | null): Promise<T> {
  const seen = await lookUntil(wait, look);
  if (seen === null) throw new StartError(sentence);
  return seen;
}
