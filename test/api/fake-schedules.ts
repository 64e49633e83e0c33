import { AppError } from '../../src/core/errors.js';
import { type ScheduledJob, schedulesOf } from '../../src/core/schedules.js';
import { canary } from '../../src/domains/canary/table.js';
import type { Schedules, ScheduleStatus } from '../../src/ports/schedules.js';
import { SCHEDULE_SETTINGS } from '../support/schedule-settings.js';

export interface FakeSchedules extends Schedules {
  /** What was asked of it, as `pause sweep-canary adam: too loud`. */
  asked: string[];
  /** What it says of every schedule; null: it has none. */
  status: ScheduleStatus | null;
  mood: 'well' | 'away';
}

/** One job of each kind: daily, often, and switched off by its own settings. */
const JOBS: readonly ScheduledJob[] = [
  { name: 'retention', when: { dailyAt: '04:00' }, input: {} },
  { name: 'count', queue: 'figures', when: { every: '5m' }, input: {} },
  { name: 'ask', queue: 'asking', when: { every: '1h' }, input: {}, isOn: false },
];

export function createFakeSchedules(): FakeSchedules {
  const schedules: FakeSchedules = {
    rows: schedulesOf({ canary }, JOBS, SCHEDULE_SETTINGS),
    asked: [],
    mood: 'well',
    status: {
      nextAt: new Date('2026-11-16T12:00:10Z'),
      lastAt: new Date('2026-11-16T12:00:00Z'),
      running: [],
      paused: null,
      actions: 7,
      skipped: 0,
      missed: 0,
      createdAt: new Date('2026-11-16T11:00:00Z'),
    },
    async find() {
      answer();
      return schedules.status;
    },
    trigger: (id) => change('trigger', id),
    abort: (id) => change('abort', id),
    pause: (id, why) => change('pause', id, why),
    resume: (id, why) => change('resume', id, why),
  };
  function answer(): void {
    if (schedules.mood === 'away') throw new AppError('engine_unavailable', 'Temporal does not answer');
  }
  async function change(...words: string[]): Promise<void> {
    answer();
    schedules.asked.push(words.join(' '));
  }
  return schedules;
}
