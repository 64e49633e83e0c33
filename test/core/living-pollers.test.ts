import { describe, expect, it } from 'vitest';
import { livingPollers } from '../../src/core/living-pollers.js';
import { ago, now } from '../support/item-facts.js';

describe('the workers that ask for work', () => {
  const polled = (identity: string, secondsAgo: number) => ({ identity, seenAt: ago(secondsAgo) });

  it('are counted once, though each asks for two kinds of work', () => {
    expect(livingPollers([polled('a', 1), polled('a', 5), polled('b', 2)], new Map(), now)).toBe(2);
  });

  it('are not those that died, whatever Temporal still lists', () => {
    const registered = new Map([
      ['dead', { isPresent: false }],
      ['busy', { isPresent: true }],
    ]);
    expect(livingPollers([polled('dead', 1), polled('busy', 200)], registered, now)).toBe(1);
  });

  it('that nobody registered count as long as one poll lasts', () => {
    expect(livingPollers([polled('stranger', 74), polled('left', 76)], new Map(), now)).toBe(1);
  });
});
