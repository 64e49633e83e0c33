import { expect, it } from 'vitest';
import { type QueueFacts, degradationsOf } from '../../src/core/queue-health.js';

const NEXT = new Date('2026-11-16T12:30:00Z');
const WELL: QueueFacts = {
  ...{ pause: null, isEngineThere: true, workers: 2, waiting: 5, breakers: [], lateSweeps: [], hasStuck: false },
};
const OPEN = { class: 'LLM_ERROR', state: 'open', nextPassAt: NEXT, waiting: 3 } as const;

it.each<[string, Partial<QueueFacts>, string[]]>([
  ['nothing of a queue that is well', {}, []],
  ['a pause', { pause: { until: NEXT, reason: 'mending' } }, ['it is paused until 2026-11-16T12:30:00.000Z: mending']],
  [
    'Temporal away, and nothing of workers it was not asked for',
    { isEngineThere: false, workers: undefined },
    ['Temporal does not answer'],
  ],
  ['that nobody works', { workers: 0 }, ['no worker asks for work, and 5 items wait for one']],
  ['nothing of workers that nobody needs', { workers: 0, waiting: 0 }, []],
  [
    'a breaker that is open',
    { breakers: [OPEN] },
    [
      'the breaker for LLM_ERROR is open until a try succeeds, the next at 2026-11-16T12:30:00.000Z; 3 items wait for it',
    ],
  ],
  [
    'a breaker that releases',
    { breakers: [{ ...OPEN, state: 'releasing', waiting: 1 }] },
    ['the breaker for LLM_ERROR lets them through one after the other; 1 item waits for it'],
  ],
  ['sweeps and what is stuck', { lateSweeps: ['no sweep'], hasStuck: true }, ['no sweep', 'items are stuck']],
])('names %s', (_, facts, why) => {
  expect(degradationsOf({ ...WELL, ...facts })).toEqual(why);
});
