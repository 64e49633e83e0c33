import { Context } from '@temporalio/activity';
import type { PageAnswer, PageContext } from '../ports/job.js';

/** Well below the heartbeat timeout of a page. */
const BEAT_MS = 1_000;

/** Longer than any single thing a page does, such as some questions to a server that hangs for a minute each time. */
const SILENT_MS = 300_000;

/** Beats while the page's promise lives, and gives up on it when the run is aborted, when the worker shuts down, or when the page
 *  says nothing for too long: a call that hangs must not beat for ever. The page sees the same by its signal. */
export async function watchPage(
  turn: (watch: Pick<PageContext, 'signal' | 'beat'>) => Promise<PageAnswer>,
  silentMs = SILENT_MS,
): Promise<PageAnswer> {
  const context = Context.current();
  const silence = new AbortController();
  const silent = new Promise<never>((_, reject) => {
    silence.signal.addEventListener('abort', () => {
      reject(silence.signal.reason as Error);
    });
  });
  let heardAt = Date.now();
  const timer = setInterval(() => {
    context.heartbeat();
    if (Date.now() - heardAt > silentMs) silence.abort(new Error(`the page said nothing for ${silentMs / 1_000} s`));
  }, BEAT_MS);
  const signal = AbortSignal.any([context.cancellationSignal, silence.signal]);
  const beat = (): void => {
    heardAt = Date.now();
  };
  try {
    return await Promise.race([turn({ signal, beat }), context.cancelled, silent]);
  } finally {
    clearInterval(timer);
  }
}
