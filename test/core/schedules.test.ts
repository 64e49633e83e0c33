import { describe, expect, it } from 'vitest';
import { intervalMsOf, schedulesOf } from '../../src/core/schedules.js';
import { canary } from '../../src/domains/canary/table.js';

const settings = {
  ...{ off: [], retentionAt: '04:00', rescuesPerSweep: 100 },
  statsEvery: '5m',
  discovery: { every: '1h', keyword: null, perRun: 20 },
  enrichment: { every: '1h', isOn: false, perRun: 20 },
} as const;

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
      { id: 'stats-refresh', when: { every: '5m' }, sweeps: null },
      { id: 'discover-npm', when: { every: '1h' }, sweeps: null },
      { id: 'enrich-skills', when: { every: '1h' }, sweeps: null },
    ]);
    expect(rows[0]?.input).toEqual({ pipeline: 'canary', rescues: 100 });
  });

  it('lets no run take as long as the interval', () => {
    for (const row of schedulesOf({ canary }, settings)) {
      expect(row.runTimeoutMs).toBeLessThan(intervalMsOf(row.when));
    }
  });

  it('keeps recovery and clean-up apart from the rest, and the rest from each other', () => {
    const queues = schedulesOf({ canary }, settings).map(({ id, taskQueue }) => [id, taskQueue]);
    expect(Object.fromEntries(queues)).toEqual({
      'sweep-canary': 'maintenance',
      retention: 'maintenance',
      'stats-refresh': 'stats',
      'discover-npm': 'discovery',
      'enrich-skills': 'enrichment',
    });
  });

  it('switches discovery and enrichment on only where they are configured', () => {
    const isOn = (given: typeof settings | object, id: string): boolean | undefined =>
      schedulesOf({ canary }, { ...settings, ...given }).find((row) => row.id === id)?.isOn;
    expect([isOn({}, 'discover-npm'), isOn({}, 'enrich-skills')]).toEqual([false, false]);
    const discovery = { ...settings.discovery, keyword: 'skill' };
    expect(isOn({ discovery }, 'discover-npm')).toBe(true);
    expect(isOn({ discovery, off: ['discover-npm'] }, 'discover-npm')).toBe(false);
    expect(isOn({ enrichment: { ...settings.enrichment, isOn: true } }, 'enrich-skills')).toBe(true);
  });

  it('marks what an operator has switched off', () => {
    const rows = schedulesOf({ canary }, { ...settings, off: ['retention'] });
    expect(rows.slice(0, 2).map(({ id, isOn }) => [id, isOn])).toEqual([
      ['sweep-canary', true],
      ['retention', false],
    ]);
  });
});
