import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSpan, msOf, type Span } from '../../src/core/span.js';

describe('a span of time', () => {
  it.each([
    ['250ms', 250],
    ['4s', 4_000],
    ['10m', 600_000],
    ['24h', 86_400_000],
    ['7d', 604_800_000],
    ['1.5h', 5_400_000],
    ['0s', 0],
    ['0.5ms', 1],
  ] as const)('%s is %i milliseconds', (span, ms) => {
    expect(isSpan(span)).toBe(true);
    expect(msOf(span)).toBe(ms);
  });

  it.each([
    '',
    '10',
    's',
    '10 s',
    '-5s',
    '1e3s',
    '5S',
    '5sec',
    '1h30m',
    '.5s',
    '5.s',
    'NaNs',
    'Infinityd',
    '5s\n',
    ' 5s',
  ])('is not %j', (text) => {
    expect(isSpan(text)).toBe(false);
    expect(() => msOf(text as Span)).toThrow(/is not a span of time; write a number and one of ms, s, m, h, d/);
  });

  it('is the same in a larger unit', () => {
    fc.assert(
      fc.property(fc.nat(10_000), (amount) => {
        const days: Span = `${amount}d`;
        const hours: Span = `${amount * 24}h`;
        const minutes: Span = `${amount * 24 * 60}m`;
        expect(msOf(days)).toBe(msOf(hours));
        expect(msOf(hours)).toBe(msOf(minutes));
      }),
    );
  });
});
