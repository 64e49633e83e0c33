import { describe, expect, it } from 'vitest';
import { redeliveryDecision } from '../../src/core/redelivery.js';
import { AppError } from '../../src/core/errors.js';

const policy = { tries: 20, firstWaitMs: 5_000 };
const HOUR_MS = 3_600_000;

function failed(tries: number, facts?: Record<string, unknown>) {
  return { tries, error: new AppError('delivery_failed', 'away', facts ? { facts } : {}) };
}

describe('a delivery that failed', () => {
  it.each([
    [1, 5_000],
    [2, 10_000],
    [3, 20_000],
    [10, 2_560_000],
    [11, HOUR_MS],
    [19, HOUR_MS],
  ])('after try %i waits for %i ms', (tries, waitMs) => {
    expect(redeliveryDecision(policy, failed(tries), 0)).toBe(waitMs);
  });

  it('is spread over a fifth more', () => {
    expect(redeliveryDecision(policy, failed(1), 1)).toBe(6_000);
    expect(redeliveryDecision(policy, failed(11), 1)).toBe(HOUR_MS);
  });

  it('is given up after its last try', () => {
    expect(redeliveryDecision(policy, failed(20), 0)).toBeNull();
    expect(redeliveryDecision({ ...policy, tries: 1 }, failed(1), 0)).toBeNull();
  });

  it('is given up at once when the receiver does not want it', () => {
    expect(redeliveryDecision(policy, { tries: 1, error: new AppError('delivery_refused', 'no') }, 0)).toBeNull();
  });

  it('is tried again after an unforeseen error', () => {
    expect(redeliveryDecision(policy, { tries: 1, error: new TypeError('bug') }, 0)).toBe(5_000);
  });

  it.each([
    ['a minute', 60_000, 60_000],
    ['less than we wait anyway', 10, 5_000],
    ['a year', 365 * 24 * HOUR_MS, HOUR_MS],
    ['a word', 'soon', 5_000],
  ])('waits for as long as the receiver asks, within bounds: %s', (_, retryAfterMs, waitMs) => {
    expect(redeliveryDecision(policy, failed(1, { retryAfterMs }), 0)).toBe(waitMs);
  });

  it('waits within bounds, however many tries there are', () => {
    for (let tries = 1; tries < 5_000; tries *= 2) {
      const waitMs = redeliveryDecision({ ...policy, tries: 10_000 }, failed(tries), 0.5);
      expect(waitMs).toBeGreaterThanOrEqual(5_000);
      expect(waitMs).toBeLessThanOrEqual(HOUR_MS);
    }
  });
});
