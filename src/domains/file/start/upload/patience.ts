import { setTimeout as pause } from 'node:timers/promises';

/** An installation that restarts is back within a minute or two: nine tries take about three minutes. */
const TRIES = 9;
const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 61_000;

export interface Try<T> {
  /** What the work answered; undefined: it could not be done now. */
  done: T | undefined;
  /** Why not. */
  problem: string;
  /** When the other side asks us to come back. */
  afterMs: number | null;
}

/** Does the work again while the other side is away or has too much to do. Throws the last problem when the tries are spent. */
export async function withPatience<T>(work: () => Promise<Try<T>>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const { done, problem, afterMs } = await work();
    if (done !== undefined) return done;
    if (tries === TRIES) throw new Error(problem);
    await pause(Math.min(afterMs ?? FIRST_WAIT_MS * 2 ** (tries - 1), MAX_WAIT_MS));
  }
}

/** The same for calls of a client that throws when nobody answers. */
export async function callAgain<T>(call: () => Promise<T>, isWorthIt: (error: unknown) => boolean): Promise<T> {
  const { value } = await withPatience(async () => {
    try {
      return { done: { value: await call() }, problem: '', afterMs: null };
    } catch (error) {
      if (!isWorthIt(error)) throw error;
      return { done: undefined, problem: error instanceof Error ? error.message : String(error), afterMs: null };
    }
  });
  return value;
}
