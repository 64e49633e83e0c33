import { describe, expect, it } from 'vitest';
import { isAliveWithoutEngine } from '../../src/core/attempt-life.js';

describe('an attempt that Temporal has given up', () => {
  it.each([
    { isHeld: true, silentMs: 1_100, ranMs: 2_000, lives: true },
    { isHeld: true, silentMs: 1_100, ranMs: 1_999, lives: false },
    { isHeld: true, silentMs: 1_500, ranMs: 9_000, lives: false },
    { isHeld: false, silentMs: 10, ranMs: 9_000, lives: false },
  ])('lives if its process holds its lock and beats its row: %o', ({ lives, ...sign }) => {
    expect(isAliveWithoutEngine(sign, 2_000)).toBe(lives);
  });
});
