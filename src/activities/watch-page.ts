import { setTimeout as delay } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import type { Logger } from 'pino';
import type { PageAnswer, PageContext } from '../ports/job.js';

/** Well below the heartbeat timeout of a page. */
const BEAT_MS = 1_000;

/** Longer than any single thing a page does, such as some questions to a server that hangs for a minute each time. */
const SILENT_MS = 300_000;

/** How long a page may take to stop after an abort. A statement or a question to a server ends within this time. */
const STOPPING_MS = 30_000;

export interface PageWatch {
  logger: Logger;
  /** Each beat carries it, for the next try to read. */
  details: number;
  silentMs?: number;
  stoppingMs?: number;
}

/** Beats while the page's promise lives, and gives up on it when the worker shuts down, or when the page says nothing for too long: a
 *  call that hangs must not beat for ever. The page sees the same by its signal. A page whose run is aborted is awaited, because
 *  nothing may be written after the row says `aborted`. */
export async function watchPage(
  turn: (told: Pick<PageContext, 'signal' | 'beat'>) => Promise<PageAnswer>,
  watch: PageWatch,
): Promise<PageAnswer> {
  const { details, silentMs = SILENT_MS } = watch;
  const context = Context.current();
  // A plain controller, for the reason that src/ports/within-time.ts gives.
  const halt = new AbortController();
  const halted = new Promise<'halted'>((resolve) => {
    halt.signal.addEventListener('abort', () => resolve('halted'));
  });
  context.cancelled.catch((reason: unknown) => halt.abort(reason));
  let heardAt = Date.now();
  const beat = (): void => {
    heardAt = Date.now();
  };
  const timer = setInterval(() => {
    context.heartbeat(details);
    if (Date.now() - heardAt > silentMs) halt.abort(new Error(`the page said nothing for ${silentMs / 1_000} s`));
  }, BEAT_MS);
  context.heartbeat(details);
  try {
    const page = turn({ signal: halt.signal, beat });
    const answer = await Promise.race([page, halted]);
    if (answer !== 'halted') return answer;
    const why = halt.signal.reason as Error;
    if (!isAbort(why)) throw why;
    return await awaitStop(page, why, watch);
  } finally {
    clearInterval(timer);
  }
}

/** Temporal names the reason of a cancellation in its message. */
function isAbort(why: Error): boolean {
  return why instanceof CancelledFailure && why.message !== 'WORKER_SHUTDOWN';
}

/** An aborted page answers, or it throws: then the abort is the reason, and not the page's error. */
async function awaitStop(page: Promise<PageAnswer>, why: Error, watch: PageWatch): Promise<PageAnswer> {
  const { logger, stoppingMs = STOPPING_MS } = watch;
  const over = new AbortController();
  const late = delay(stoppingMs, 'late' as const, { signal: over.signal }).catch(() => 'late' as const);
  const stopped = page.catch(() => 'stopped' as const);
  const first = await Promise.race([stopped, late]);
  over.abort();
  if (first === 'late') logger.error({ waitedMs: stoppingMs }, 'an aborted page did not stop and may still write');
  if (first === 'late' || first === 'stopped') throw why;
  return first;
}
