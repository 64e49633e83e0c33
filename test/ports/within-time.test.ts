import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { isTimeUp, runWithinTime } from '../../src/ports/within-time.js';

const LIMIT_MS = 5_000;

/** Work that ends only when its signal is aborted, and then with the signal's reason. */
function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const giveUp = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', giveUp);
    if (signal.aborted) giveUp();
  });
}

describe('work within a time limit', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('gives its result', async () => {
    expect(await runWithinTime({ timeoutMs: LIMIT_MS }, () => Promise.resolve('done'))).toBe('done');
  });

  it('is aborted with a TimeoutError when the time is up, and not before', async () => {
    let seen: AbortSignal | undefined;
    const work = runWithinTime({ signal: new AbortController().signal, timeoutMs: LIMIT_MS }, (signal) => {
      seen = signal;
      return hang(signal);
    });
    const failure = work.catch((error: unknown) => error);

    await vi.advanceTimersByTimeAsync(LIMIT_MS - 1);
    expect(seen?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);

    expect(await failure).toMatchObject({ name: 'TimeoutError', message: 'no answer within 5000 ms' });
    expect(seen && isTimeUp(seen)).toBe(true);
  });

  it("is aborted with the caller's reason when the caller stops it", async () => {
    const caller = new AbortController();
    const reason = new Error('the worker leaves');
    let seen: AbortSignal | undefined;
    const work = runWithinTime({ signal: caller.signal, timeoutMs: LIMIT_MS }, (signal) => {
      seen = signal;
      return hang(signal);
    });

    caller.abort(reason);

    await expect(work).rejects.toBe(reason);
    expect(seen && isTimeUp(seen)).toBe(false);
  });

  it('begins with an aborted signal when the caller has stopped already', async () => {
    const reason = new Error('stopped before the work began');

    await expect(runWithinTime({ signal: AbortSignal.abort(reason), timeoutMs: LIMIT_MS }, hang)).rejects.toBe(reason);
  });

  it('keeps the first reason: a caller who stops after the time limit changes nothing', async () => {
    const caller = new AbortController();
    const work = runWithinTime({ signal: caller.signal, timeoutMs: LIMIT_MS }, async (signal) => {
      await hang(signal).catch(() => undefined);
      caller.abort();
      return isTimeUp(signal);
    });

    await vi.advanceTimersByTimeAsync(LIMIT_MS);

    expect(await work).toBe(true);
  });

  it.each([
    ['succeeds', () => Promise.resolve()],
    ['fails', () => Promise.reject(new Error('no'))],
    [
      'throws at once',
      () => {
        throw new Error('no');
      },
    ],
  ])('leaves no timer and no listener behind when it %s', async (_, work) => {
    const { signal } = new AbortController();
    let during = 0;

    await runWithinTime({ signal, timeoutMs: LIMIT_MS }, () => {
      during = getEventListeners(signal, 'abort').length + vi.getTimerCount();
      return work();
    }).catch(() => undefined);

    expect(during).toBe(2);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('isTimeUp', () => {
  it('is false for a signal that is not aborted', () => {
    expect(isTimeUp(new AbortController().signal)).toBe(false);
  });
});
