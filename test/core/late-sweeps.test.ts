import { describe, expect, it } from 'vitest';
import { lateSweeps } from '../../src/core/late-sweeps.js';
import { schedulesOf } from '../../src/core/schedules.js';
import { canary } from '../../src/domains/canary/table.js';
import { SCHEDULE_SETTINGS } from '../support/schedule-settings.js';

const HOUR_MS = 3_600_000;
const rows = schedulesOf({ canary }, [], SCHEDULE_SETTINGS);
const lastEndedAt = new Date('2026-11-16T12:00:00Z');

function lateAfter(ageMs: number | null, watchedMs: number) {
  const age = { job: 'sweep-canary', lastEndedAt: ageMs === null ? null : lastEndedAt, ageMs };
  return lateSweeps(rows, [age], watchedMs);
}

describe('a sweep', () => {
  it('is late when its last end is older than two intervals', () => {
    expect(lateAfter(20_000, HOUR_MS)).toEqual([]);
    expect(lateAfter(20_001, HOUR_MS)).toEqual([
      {
        id: 'sweep-canary',
        pipeline: 'canary',
        silentMs: 20_001,
        since: '2026-11-16T12:00:00.000Z',
        sentence: 'sweep-canary last got to its end 20 s ago; it is due every 10 s.',
      },
    ]);
  });

  it('is late without ever having ended only after the watch has waited for two intervals', () => {
    expect(lateAfter(null, 20_000)).toEqual([]);
    expect(lateAfter(null, 20_001)).toMatchObject([
      { since: 'never', sentence: 'sweep-canary has never got to its end; it is due every 10 s.' },
    ]);
  });

  it('is not late right after a start, however long the processes were down', () => {
    expect(lateAfter(8 * HOUR_MS, 1_000)).toEqual([]);
    expect(lateAfter(8 * HOUR_MS, 21_000)).toHaveLength(1);
  });

  it('is never late while it is switched off, nor is a schedule that is no sweep', () => {
    const off = rows.map((row) => ({ ...row, isOn: false }));
    expect(lateSweeps(off, [], HOUR_MS)).toEqual([]);
    expect(lateSweeps(rows, [{ job: 'sweep-canary', lastEndedAt, ageMs: 1 }], 90 * 24 * HOUR_MS)).toEqual([]);
  });
});
