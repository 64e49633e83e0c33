import type { Facts, ItemFacts } from '../../src/core/diagnosis.js';
import { definePipeline, stage } from '../../src/core/pipeline.js';

/** Facts for tests of what is decided on them: a live item of a small table, and what is different about it. */
export const table = definePipeline({
  name: 'sample',
  start: 'waiting',
  sweep: { every: '5m', staleAfter: '3m', stuckAfter: '5m' },
  rescue: { budget: 3, backoff: ['3m'], budgetResetAfter: '24h', oldestRescued: '7d', exhausted: 'failed' },
  cancelled: 'failed',
  states: {
    waiting: { rests: 'awaiting_upload', then: { uploaded: 'queued' } },
    queued: { rests: 'backlog', then: { claimed: 'working' } },
    working: {
      does: [
        stage('read', { tries: 3, within: '1m', beats: '10s', spent: { move: 'failed' } }),
        stage('write', { tries: 3, within: '1m', spent: { move: 'failed' } }),
      ],
      then: { done: 'review' },
    },
    review: { awaits: 'reviewer', then: { accept: 'resting', refuse: 'failed' } },
    resting: { rests: 'not_due', then: { picked: 'finished' } },
    finished: { ends: 'done' },
    failed: { ends: 'failed' },
  },
});

export const now = new Date('2026-03-01T12:00:00.000Z');

/** A time this many seconds before now; negative ones lie ahead. */
export function ago(seconds: number): Date {
  return new Date(now.getTime() - seconds * 1_000);
}

const live: ItemFacts = {
  pipeline: 'sample',
  state: 'working',
  beatAt: ago(1),
  started: true,
  startAfter: ago(60),
  startTries: 0,
  acceptedAt: null,
  runEndedAt: null,
  rescues: 0,
  lastRescueAt: null,
  nextRescueAfter: null,
  pausedUntil: null,
  pauseReason: null,
  parkedAt: null,
  parkedWhy: null,
  endedAt: null,
  endReason: null,
};

export type Given = Partial<Omit<Facts, 'item'>> & { item?: Partial<ItemFacts> };

export function facts({ item, ...rest }: Given): Facts {
  return {
    now,
    pipeline: table,
    running: null,
    waiting: null,
    hold: null,
    ...rest,
    item: { ...live, ...item },
  };
}
