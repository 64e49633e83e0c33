import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addBusinessDays, businessDaysBetween } from '../../../../src/domains/submission/core/business-days.js';

/** 16 November 2026 is a Monday. */
function at(text: string): Date {
  return new Date(`2026-11-${text}Z`);
}

describe('business days between two moments', () => {
  it.each([
    ['within a day', '16T09:00', '16T21:00', 0.5],
    ['over a night', '16T12:00', '17T12:00', 1],
    ['over a weekend', '20T12:00', '23T12:00', 1],
    ['of a whole week', '16T00:00', '23T00:00', 5],
    ['on a weekend', '21T08:00', '22T20:00', 0],
    ['from a weekend into the week', '21T08:00', '24T00:00', 1],
    ['backwards', '17T00:00', '16T00:00', 0],
  ])('%s', (_, from, to, days) => {
    expect(businessDaysBetween(at(from), at(to))).toBe(days);
  });
});

describe('a deadline in business days', () => {
  it.each([
    ['in the same week', '16T09:00', 3, '19T09:00'],
    ['on the same weekday of the next one', '18T15:30', 5, '25T15:30'],
    ['of what comes on a Saturday is the end of the week after', '21T10:00', 5, '28T00:00'],
    ['of no days is now', '17T10:00', 0, '17T10:00'],
    ['of no days on a Sunday is Monday', '22T10:00', 0, '23T00:00'],
  ])('%s', (_, from, days, deadline) => {
    expect(addBusinessDays(at(from), days)).toEqual(at(deadline));
  });
});

it('finds as many business days between a moment and its deadline as the deadline was given', () => {
  const moments = fc.date({ min: new Date('2026-01-01'), max: new Date('2030-01-01'), noInvalidDate: true });
  fc.assert(
    fc.property(moments, fc.integer({ min: 0, max: 40 }), (from, days) => {
      expect(businessDaysBetween(from, addBusinessDays(from, days))).toBeCloseTo(days, 9);
    }),
  );
});
