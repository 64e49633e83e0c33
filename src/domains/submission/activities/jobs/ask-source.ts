import type pg from 'pg';
import { isAppError } from '../../../../core/errors.js';
import { findWait, storeWait } from '../../db/source-waits.js';

export type Source = 'npm' | 'github';

/** A server wants to be left alone: nothing more is asked of it in this run, nor in the next before its time. */
export class SourceWaits extends Error {
  override readonly name = 'SourceWaits';
}

/** Asks a server, unless the server has said that it must not be asked before a later time. If the server says so now,
 *  the time is kept for the next caller. */
export async function askSource<T>(pool: pg.Pool, source: Source, ask: () => Promise<T>): Promise<T> {
  const until = await findWait(pool, source);
  if (until) throw new SourceWaits(`${source} asked to be left alone until ${until.toISOString()}`);
  try {
    return await ask();
  } catch (error) {
    const waitMs = isAppError(error) ? error.facts?.['retryAfterMs'] : undefined;
    if (typeof waitMs !== 'number') throw error;
    await storeWait(pool, source, waitMs);
    throw new SourceWaits(`${source} asked to be left alone for ${String(Math.ceil(waitMs / 1_000))} s`, {
      cause: error,
    });
  }
}

export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
