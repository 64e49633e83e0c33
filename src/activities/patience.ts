import { setTimeout as delay } from 'node:timers/promises';
import { isTransient } from '../db/transient.js';

/** Waits between tries at a database that is away. About two seconds in all: a restart, a failover's first moments. After
 *  that the attempt fails and Temporal tries again, without an error being counted. */
const WAITS_MS = [50, 100, 250, 500, 1_000] as const;

/** An abort controller, or what stands for one. */
export interface GiveUp {
  readonly signal: AbortSignal;
}

/** Waits for a database that went away under an attempt: without end, because starting it again costs more. It goes on beating
 *  meanwhile, and its time limit, its signal or its fence ends it. */
export function* withoutEnd(): Generator<number> {
  yield* WAITS_MS;
  for (;;) yield 2_000;
}

/** Repeats a call while the database, and not the call, is at fault. The call must be safe to repeat. Who aborts gets the last
 *  error without another wait; the signal is asked for only when a call has failed. */
export async function patiently<T>(
  call: () => Promise<T>,
  waits: Iterable<number> = WAITS_MS,
  giveUp?: GiveUp,
): Promise<T> {
  for (const wait of waits) {
    try {
      return await call();
    } catch (error) {
      if (!isTransient(error) || giveUp?.signal.aborted) throw error;
      await pause(wait, giveUp?.signal);
    }
  }
  return call();
}

async function pause(ms: number, giveUp: AbortSignal | undefined): Promise<void> {
  try {
    await delay(ms, undefined, giveUp && { signal: giveUp });
  } catch (error) {
    // Cut short by the signal: one last call, whose error is the one that counts.
    if (!giveUp?.aborted) throw error;
  }
}
