import { describe, expect, it } from 'vitest';
import { intervalMsOf, type ScheduledJob, schedulesOf } from '../../src/core/schedules.js';
import { canary } from '../../src/domains/canary/table.js';

const settings = { off: [] };

const jobs: ScheduledJob[] = [
  { name: 'tidy', when: { dailyAt: '04:00' }, input: {} },
  { name: 'count', queue: 'figures', when: { every: '5m' }, input: { what: 'all' }, perSecond: 2 },
  { name: 'ask', queue: 'asking', when: { every: '1h' }, input: {}, isOn: false },
];

describe('the registry of schedules', () => {
  it('has a sweep for every pipeline, as often as its table says, and the jobs', () => {
    const other = { ...canary, name: 'other', sweep: { ...canary.sweep, every: '5m' } } as const;
    const rows = schedulesOf({ canary, other }, jobs, settings);

    expect(rows.map(({ id, when, sweeps }) => ({ id, when, sweeps }))).toEqual([
      { id: 'sweep-canary', when: { every: '10s' }, sweeps: 'canary' },
      { id: 'sweep-other', when: { every: '5m' }, sweeps: 'other' },
      { id: 'tidy', when: { dailyAt: '04:00' }, sweeps: null },
      { id: 'count', when: { every: '5m' }, sweeps: null },
      { id: 'ask', when: { every: '1h' }, sweeps: null },
    ]);
    expect(rows[0]?.input).toEqual({ pipeline: 'canary', rescues: 100 });
  });

  it('lets no run take as long as the interval', () => {
    for (const row of schedulesOf({ canary }, jobs, settings)) {
      expect(row.runTimeoutMs).toBeLessThan(intervalMsOf(row.when));
    }
  });

  it('runs sweeps on a queue that no job is on', () => {
    const queues = schedulesOf({ canary }, jobs, settings).map(({ id, taskQueue }) => [id, taskQueue]);
    expect(Object.fromEntries(queues)).toEqual({
      'sweep-canary': 'maintenance',
      tidy: 'jobs',
      count: 'jobs',
      ask: 'jobs',
    });
  });

  it('tells run-job the job, the queue of its pages, its input and its pace', () => {
    expect(schedulesOf({}, jobs, settings).map(({ workflow, input }) => ({ workflow, ...input }))).toEqual([
      { workflow: 'run-job', job: 'tidy', queue: 'jobs', key: '', input: {} },
      { workflow: 'run-job', job: 'count', queue: 'jobs-figures', key: '', input: { what: 'all' }, perSecond: 2 },
      { workflow: 'run-job', job: 'ask', queue: 'jobs-asking', key: '', input: {} },
    ]);
  });

  it('marks the schedules that an operator, or the job’s own settings, have switched off', () => {
    const rows = schedulesOf({ canary }, jobs, { ...settings, off: ['tidy'] });
    expect(rows.map(({ id, isOn }) => [id, isOn])).toEqual([
      ['sweep-canary', true],
      ['tidy', false],
      ['count', true],
      ['ask', false],
    ]);
  });
});
