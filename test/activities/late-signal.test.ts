import { describe, expect, it } from 'vitest';
import { LateSignal } from '../../src/activities/late-signal.js';

describe('a late signal', () => {
  it('is aborted with the reason, asked for before or after', () => {
    const asked = new LateSignal();
    const { signal } = asked;
    const late = new LateSignal();

    asked.abort('over');
    late.abort('over');

    expect(signal.reason).toBe('over');
    expect(late.signal.reason).toBe('over');
    expect(late.signal.aborted).toBe(true);
  });

  it('is the same for every caller, and not aborted by being asked for', () => {
    const late = new LateSignal();

    expect(late.signal).toBe(late.signal);
    expect(late.signal.aborted).toBe(false);
    expect(late.aborted).toBe(false);
  });

  it('keeps the first reason', () => {
    const late = new LateSignal();

    late.abort('first');
    late.abort('second');

    expect(late.aborted).toBe(true);
    expect(late.signal.reason).toBe('first');
  });
});
