import { expect, it } from 'vitest';
import { watchSleep } from '../../src/activities/watch-sleep.js';

it('a process that stood still says for how long, also to those who ask a moment later, and then forgets it', () => {
  let now = 0;
  const sleptMs = watchSleep(() => now);
  const after = (ms: number): number => {
    now += ms;
    return sleptMs();
  };
  expect(after(100)).toBe(0);
  expect(after(1_300)).toBe(1_200);
  expect([after(100), after(100), after(300)]).toEqual([1_200, 1_200, 1_200]);
  expect(after(100)).toBe(0);
});
