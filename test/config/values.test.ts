import { describe, expect, it } from 'vitest';
import { cronText } from '../../src/config/values.js';

describe('a cron expression', () => {
  it.each([
    ['*/15 * * * *', { every: '15m' }],
    ['*/60 * * * *', { every: '60m' }],
    ['0 * * * *', { every: '1h' }],
    ['0 */6 * * *', { every: '6h' }],
    ['0 3 * * *', { dailyAt: '03:00' }],
    ['30 23 * * *', { dailyAt: '23:30' }],
  ])('%s is a schedule', (text, when) => {
    expect(cronText.parse(text)).toEqual(when);
  });

  it.each([
    '',
    '* * * * *',
    '*/7 * * * *',
    '*/0 * * * *',
    '0 */5 * * *',
    '60 3 * * *',
    '0 24 * * *',
    '0 3 * * 1',
    'daily',
  ])('that no schedule can keep is refused: %o', (text) => {
    expect(cronText.safeParse(text).success).toBe(false);
  });
});
