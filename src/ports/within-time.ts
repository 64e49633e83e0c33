export interface TimeLimit {
  /** Ends the work early: the caller's own signal. */
  signal?: AbortSignal | undefined;
  timeoutMs: number;
}

/** Runs work with a signal that is aborted by the caller's signal or by the time limit, whichever comes first. The
 *  signal's reason is the caller's reason, or a TimeoutError. Work that ignores its signal is waited for all the same.
 *
 *  The timer is a plain one, because Node 20 may collect a signal made by `AbortSignal.any` of `AbortSignal.timeout`
 *  while the work waits for it. The abort would then never come. */
export async function runWithinTime<T>(limit: TimeLimit, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { signal: outer, timeoutMs } = limit;
  const inner = new AbortController();
  const stop = (): void => inner.abort(outer?.reason);
  const timer = setTimeout(() => {
    inner.abort(new DOMException(`no answer within ${timeoutMs} ms`, 'TimeoutError'));
  }, timeoutMs);
  outer?.addEventListener('abort', stop);
  if (outer?.aborted) stop();
  try {
    return await work(inner.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', stop);
  }
}

/** Whether a time limit aborted the signal, and not a caller who stopped the work. */
export function isTimeUp({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof Error && reason.name === 'TimeoutError';
}
