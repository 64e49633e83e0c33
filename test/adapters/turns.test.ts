import { describe, expect, it } from 'vitest';
import { createTurns, type Turns } from '../../src/adapters/turns.js';

const never = new AbortController().signal;

/** A caller that asks for a turn, and the numbers that it was told. */
function asks(turns: Turns, signal = never) {
  const heard: number[] = [];
  const turn = turns.take(signal, (ahead) => heard.push(ahead));
  return { heard, turn };
}

describe('turns', () => {
  it('are given at once when no caller has one, and again after it was given back', async () => {
    const turns = createTurns();
    const first = asks(turns);
    (await first.turn)();
    const again = asks(turns);
    await again.turn;
    expect([first.heard, again.heard]).toEqual([[0], [0]]);
  });

  it('go round in the order in which they were asked for, one at a time', async () => {
    const turns = createTurns();
    const [first, second, third] = [asks(turns), asks(turns), asks(turns)];
    const passOn = await first.turn;
    expect([second.heard, third.heard]).toEqual([[1], [2]]);

    passOn();
    const passOnAgain = await second.turn;
    expect([second.heard, third.heard]).toEqual([
      [1, 0],
      [2, 1],
    ]);
    passOnAgain();
    await third.turn;
    expect(third.heard).toEqual([2, 1, 0]);
  });

  it('skip a caller that has left, and tell the callers behind it', async () => {
    const turns = createTurns();
    const control = new AbortController();
    const [first, leaving, last] = [asks(turns), asks(turns, control.signal), asks(turns)];
    const passOn = await first.turn;
    const reason = new Error('called off');
    control.abort(reason);

    await expect(leaving.turn).rejects.toBe(reason);
    expect([leaving.heard, last.heard]).toEqual([[1], [2, 1]]);
    passOn();
    await last.turn;
    expect(last.heard).toEqual([2, 1, 0]);
  });

  it('are not given to a caller that was called off before, and stay with one that is called off during its turn', async () => {
    const turns = createTurns();
    await expect(turns.take(AbortSignal.abort(new Error('too late')), () => undefined)).rejects.toThrow('too late');

    const control = new AbortController();
    const [first, second] = [asks(turns, control.signal), asks(turns)];
    const passOn = await first.turn;
    control.abort();
    expect(second.heard).toEqual([1]);
    passOn();
    await second.turn;
    expect(second.heard).toEqual([1, 0]);
  });
});
