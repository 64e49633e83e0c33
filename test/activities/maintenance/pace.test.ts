import { describe, expect, it } from 'vitest';
import { createPace } from '../../../src/activities/maintenance/pace.js';

/** A clock that moves only by hand, and keeps the waits that are asked of it. */
function clockByHand() {
  const clock = {
    at: 0,
    waits: [] as number[],
    now: () => clock.at,
    waitMs: async (ms: number) => clock.waits.push(ms),
  };
  return clock;
}

describe('a pace', () => {
  it('lets the first caller through at once, and each next one a turn later', async () => {
    const clock = clockByHand();
    const awaitTurn = createPace(4, clock);
    await Promise.all([awaitTurn(), awaitTurn(), awaitTurn()]);
    expect(clock.waits).toEqual([250, 500]);
  });

  it('does not make up for turns that nobody took', async () => {
    const clock = clockByHand();
    const awaitTurn = createPace(4, clock);
    await awaitTurn();
    clock.at = 10_000;
    await Promise.all([awaitTurn(), awaitTurn()]);
    expect(clock.waits).toEqual([250]);
  });
});
