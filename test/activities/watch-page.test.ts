import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { watchPage } from '../../src/activities/watch-page.js';
import { gate } from '../support/barrier.js';

const DONE = { counts: {}, last: true } as const;

describe('a page', () => {
  it('that says nothing for too long is aborted, and told so', async () => {
    const told = gate();
    const environment = new MockActivityEnvironment();
    const watched = environment.run(() =>
      watchPage(({ signal }) => {
        signal.addEventListener('abort', told.open);
        return new Promise(() => undefined);
      }, 500),
    );
    await expect(watched).rejects.toThrow('the page said nothing for 0.5 s');
    await told.opened;
  });

  it('that beats may take as long as it needs', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const environment = new MockActivityEnvironment();
    const watched = environment.run(() =>
      watchPage(async ({ beat }) => {
        for (let n = 0; n < 12; n += 1) {
          await vi.advanceTimersByTimeAsync(1_500);
          beat();
        }
        return DONE;
      }, 2_000),
    );
    expect(await watched).toEqual(DONE);
  });

  it('is given up when the run is aborted, though it does not listen', async () => {
    const begun = gate();
    const environment = new MockActivityEnvironment();
    const watched = environment.run(() =>
      watchPage(() => {
        begun.open();
        return new Promise(() => undefined);
      }),
    );
    const rejected = expect(watched).rejects.toThrow('CANCELLED');
    await begun.opened;
    environment.cancel();
    await rejected;
  });
});
