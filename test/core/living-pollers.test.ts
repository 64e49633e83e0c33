import { describe, expect, it } from 'vitest';
import { countLivingPollers } from '../../src/core/living-pollers.js';
import { ago, now } from '../support/item-facts.js';

describe('the living pollers of a queue', () => {
  const polled = (identity: string, secondsAgo: number) => ({ identity, seenAt: ago(secondsAgo) });

  it('are counted once, though each worker polls for two kinds of tasks', () => {
    expect(countLivingPollers([polled('a', 1), polled('a', 5), polled('b', 2)], new Map(), now)).toBe(2);
  });

  it('leave out dead workers that Temporal still lists', () => {
    const registered = new Map([
      ['dead', { isPresent: false }],
      ['busy', { isPresent: true }],
    ]);
    expect(countLivingPollers([polled('dead', 1), polled('busy', 200)], registered, now)).toBe(1);
  });

  it('count without a registration for as long as one poll lasts', () => {
    expect(countLivingPollers([polled('stranger', 74), polled('left', 76)], new Map(), now)).toBe(1);
  });
});
