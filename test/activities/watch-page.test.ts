import { MockActivityEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type PageWatch, watchPage } from '../../src/activities/watch-page.js';
import { gate } from '../support/barrier.js';

const DONE = { counts: {}, last: true } as const;

function watch(more: Partial<PageWatch> = {}): PageWatch {
  return { logger: pino({ level: 'silent' }), details: 1, ...more };
}

describe('a page', () => {
  it('that says nothing for too long is aborted, and told so', async () => {
    const told = gate();
    const environment = new MockActivityEnvironment();
    const watched = environment.run(() =>
      watchPage(
        ({ signal }) => {
          signal.addEventListener('abort', told.open);
          return new Promise(() => undefined);
        },
        watch({ silentMs: 500 }),
      ),
    );
    await expect(watched).rejects.toThrow('the page said nothing for 0.5 s');
    await told.opened;
  });

  it('that beats may take as long as it needs', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const environment = new MockActivityEnvironment();
    const watched = environment.run(() =>
      watchPage(
        async ({ beat }) => {
          for (let n = 0; n < 12; n += 1) {
            await vi.advanceTimersByTimeAsync(1_500);
            beat();
          }
          return DONE;
        },
        watch({ silentMs: 2_000 }),
      ),
    );
    expect(await watched).toEqual(DONE);
  });

  it('is given up at once when the worker shuts down, though it does not listen', async () => {
    const begun = gate();
    const environment = new MockActivityEnvironment();
    const watched = environment.run(() =>
      watchPage(() => {
        begun.open();
        return new Promise(() => undefined);
      }, watch()),
    );
    const rejected = expect(watched).rejects.toThrow('WORKER_SHUTDOWN');
    await begun.opened;
    environment.cancel('WORKER_SHUTDOWN');
    await rejected;
  });
});

describe('a page whose run is aborted', () => {
  it('is awaited until it has stopped, so that nothing is written afterwards', async () => {
    const [begun, told, over] = [gate(), gate(), gate()];
    const order: string[] = [];
    const environment = new MockActivityEnvironment();
    const watched = environment
      .run(() =>
        watchPage(async ({ signal }) => {
          signal.addEventListener('abort', told.open);
          begun.open();
          await over.opened;
          order.push('written');
          throw new Error('stopped');
        }, watch()),
      )
      .catch((error: unknown) => {
        order.push(String(error));
      });
    await begun.opened;
    environment.cancel();
    await told.opened;
    over.open();
    await watched;
    expect(order).toEqual(['written', 'CancelledFailure: CANCELLED']);
  });

  it('may answer all the same, and its answer counts', async () => {
    const begun = gate();
    const environment = new MockActivityEnvironment();
    const watched = environment.run(() =>
      watchPage(({ signal }) => {
        const answer = new Promise<typeof DONE>((resolve) => {
          signal.addEventListener('abort', () => resolve(DONE));
        });
        begun.open();
        return answer;
      }, watch()),
    );
    await begun.opened;
    environment.cancel();
    expect(await watched).toEqual(DONE);
  });

  it('is given up after a time if it does not listen, which the log says', async () => {
    const begun = gate();
    const lines: string[] = [];
    const logger = pino({}, { write: (line: string) => void lines.push(line) });
    const environment = new MockActivityEnvironment();
    const watched = environment.run(() =>
      watchPage(
        () => {
          begun.open();
          return new Promise(() => undefined);
        },
        watch({ logger, stoppingMs: 50 }),
      ),
    );
    const rejected = expect(watched).rejects.toThrow('CANCELLED');
    await begun.opened;
    environment.cancel();
    await rejected;
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
      'an aborted page did not stop and may still write',
    ]);
  });
});
