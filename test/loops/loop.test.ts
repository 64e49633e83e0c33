import { setImmediate as nextRound } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Loop, type LoopOptions, startLoop } from '../../src/loops/loop.js';
import { until } from '../support/until.js';
import { silent } from '../support/worker.js';

/** Longer than a test runs: a turn after such a pause was not caused by time. */
const NEVER_MS = 600_000;

function start(options: Partial<LoopOptions> & Pick<LoopOptions, 'turn'>): Loop {
  const loop = startLoop({ everyMs: NEVER_MS, name: 'test', logger: silent, ...options });
  onTestFinished(() => loop.stop());
  return loop;
}

describe('a loop', () => {
  it('takes its first turn at once, and the next one after a pause or a wake', async () => {
    let turns = 0;
    const loop = start({ turn: async () => void (turns += 1) });
    await until('the first turn has ended', () => loop.lastTurnAt());
    expect(turns).toBe(1);

    loop.wake();

    await until('the loop took the second turn', () => turns === 2);
  });

  it('pauses for as long as a turn says, and not at all after a turn that says 0', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const pauses = [0, 0, 1_000, NEVER_MS];
    let turns = 0;
    start({ turn: async () => pauses[turns++] });

    await vi.advanceTimersByTimeAsync(999);
    expect(turns).toBe(3);
    await vi.advanceTimersByTimeAsync(1);
    expect(turns).toBe(4);
    await vi.advanceTimersByTimeAsync(NEVER_MS - 1);
    expect(turns).toBe(4);
    await vi.advanceTimersByTimeAsync(1);
    expect(turns).toBe(5);
  });

  it('logs a turn that fails, does not count it as ended, and takes the next turn', async () => {
    const lines: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line) => lines.push(line) });
    let turns = 0;
    const loop = start({
      everyMs: 1,
      logger,
      async turn() {
        turns += 1;
        if (turns === 1) throw new Error('the database is away');
        expect(loop.lastTurnAt()).toBeNull();
        return NEVER_MS;
      },
    });

    await until('the second turn has ended', () => loop.lastTurnAt());

    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ loop: 'test', err: { message: 'the database is away' } });
  });

  it('stops after the turn that is running, and takes no other', async () => {
    let turns = 0;
    let end: () => void = () => undefined;
    const loop = start({
      turn() {
        turns += 1;
        return new Promise((resolve) => {
          end = () => resolve(0);
        });
      },
    });
    const ends: string[] = [];

    const stopping = loop.stop().then(() => ends.push('stop'));
    // Whatever could resolve without the turn has resolved before the next round of the event loop.
    await nextRound();
    ends.push('turn');
    end();
    await stopping;

    expect(ends).toEqual(['turn', 'stop']);
    expect(turns).toBe(1);
  });
});
