import { setTimeout as pause } from 'node:timers/promises';
import { StartError } from '../../../../start/embedded/start-error.js';

export interface Wait {
  withinMs: number;
  everyMs: number;
  signal: AbortSignal;
}

/** Looks until it sees something, and gives that back; null when the time is over. */
export async function until<T>(
  { withinMs, everyMs, signal }: Wait,
  look: () => Promise<T | null> | T | null,
): Promise<T | null> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    signal.throwIfAborted();
    const seen = await look();
    if (seen !== null || performance.now() > deadline) return seen;
    // Cut short by the signal, whose own reason is thrown above.
    await pause(everyMs, undefined, { signal }).catch(() => undefined);
  }
}

/** The same where not to see it means that the drill can't go on. */
export async function mustSee<T>(wait: Wait, sentence: string, look: () => Promise<T | null> | T | null): Promise<T> {
  const seen = await until(wait, look);
  if (seen === null) throw new StartError(sentence);
  return seen;
}
