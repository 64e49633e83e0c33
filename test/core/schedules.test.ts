import { describe, expect, it } from 'vitest';
import { intervalMsOf, schedulesOf } from '../../src/core/schedules.js';
import { canary } from '../../src/pipelines/canary.js';

const settings = { off: [], retentionAt: '04:00', rescuesPerSweep: 100 };

describe('the registry of schedules', () => {
  it('has a sweep for every pipeline, as often as its table says, and retention daily', () => {
    const rows = schedulesOf(
      { canary, other: { ...canary, name: 'other', sweep: { ...canary.sweep, every: '5m' } } },
      settings,
    );

    expect(rows.map(({ id, when, sweeps }) => ({ id, when, sweeps }))).toEqual([
      { id: 'sweep-canary', when: { every: '10s' }, sweeps: 'canary' },
      { id: 'sweep-other', when: { every: '5m' }, sweeps: 'other' },
      { id: 'retention', when: { dailyAt: '04:00' }, sweeps: null },
    ]);
    expect(rows[0]?.input).toEqual({ pipeline: 'canary', rescues: 100 });
  });

  it('lets no run take as long as the interval', () => {
    for (const row of schedulesOf({ canary }, settings)) {
      expect(row.runTimeoutMs).toBeLessThan(intervalMsOf(row.when));
      expect(row.taskQueue).toBe('maintenance');
    }
  });

  it('marks what an operator has switched off', () => {
    const rows = schedulesOf({ canary }, { ...settings, off: ['retention'] });
    expect(rows.map(({ id, isOn }) => [id, isOn])).toEqual([
      ['sweep-canary', true],
      ['retention', false],
    ]);
  });
});
