import { setTimeout as delay } from 'node:timers/promises';
import { isTransient } from '../db/postgres/database-fault.js';

/** The waits between tries at a database that is away. About two seconds in all: a restart, or the first moments of a failover. After
 *  that the attempt fails and Temporal tries again, without an error being counted. */
const WAITS_MS = [50, 100, 250, 500, 1_000] as const;

/** An abort controller, or an object that stands for one. */
export interface GiveUp {
  readonly signal: AbortSignal;
}

/** The waits of an attempt whose database went away: without end, because a new attempt costs more. The attempt goes on beating
 *  meanwhile, and its time limit, its signal or its fence ends it. */
export function* endlessWaits(): Generator<number> {
  yield* WAITS_MS;
  for (;;) yield 2_000;
}

/** Repeats a call while the database, and not the call, is at fault. The call must be safe to repeat. After an abort, the caller gets
 *  the last error without another wait. The signal is asked for only when a call has failed. */
export async function retryPatiently<T>(
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
    // The signal cut the wait short. One last call follows, and its error counts.
    if (!giveUp?.aborted) throw error;
  }
}
