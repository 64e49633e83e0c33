import { definePipeline, fanOut, stage } from '../../core/pipeline.js';

/** The options that all stages share. */
const STAGE = {
  tries: 3,
  // A canary's stage may be asked to take ten minutes. One more is left for the claim and the commit.
  within: '11m',
  // Two seconds instead of the default four, so that a drill soon shows that a worker is frozen.
  beats: '2s',
  // A canary reports progress four times a second. A stage that was told to hang is found after this time.
  progressWithin: '5s',
  spent: { move: 'FAILED' },
} as const;

/** A small pipeline that proves an installation: three stages that take as long as asked and leave one effect each,
 *  with an optional fan-out and an optional decision. */
export const canary = definePipeline({
  name: 'canary',
  start: 'FIRST',
  sweep: { every: '10s', staleAfter: '5s', stuckAfter: '15s' },
  rescue: {
    budget: 3,
    backoff: ['2s', '5s', '10s'],
    budgetResetAfter: '24h',
    oldestRescued: '7d',
    exhausted: 'FAILED',
  },
  cancelled: 'FAILED',
  // More canaries than any drill needs, and few enough that no owner floods the queue.
  livePerOwner: 1_000,
  states: {
    FIRST: { does: stage('first', STAGE), then: { done: 'SECOND', split: 'SPREADING' } },
    SPREADING: { does: fanOut('spread', { ...STAGE, width: 8, needs: 'all' }), then: { done: 'SECOND' } },
    SECOND: { does: stage('second', STAGE), then: { done: 'THIRD', ask: 'AWAITING' } },
    AWAITING: { awaits: 'owner', then: { approve: 'THIRD', reject: 'FAILED' } },
    THIRD: { does: stage('third', STAGE), then: { done: 'DONE' } },
    DONE: { ends: 'done' },
    FAILED: { ends: 'failed', reopens: 'FIRST' },
  },
});
