import { definePipeline, fanOut, stage } from '../../core/pipeline.js';

/** Ten minutes: the longest a canary's stage may be asked to take, and a little more. */
const WITHIN = '11m';

/** Two seconds, not the default four: a drill should show a frozen worker soon. */
const BEATS = '2s';

/** A canary reports progress four times a second; one told to hang is found out after this long. */
const PROGRESS = '5s';

/** A small pipeline of our own that proves an installation: three stages that take as long as asked and leave one effect
 *  each, with an optional fan-out and an optional decision. */
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
  states: {
    FIRST: {
      does: stage('first', {
        tries: 3,
        within: WITHIN,
        beats: BEATS,
        progressWithin: PROGRESS,
        spent: { move: 'FAILED' },
      }),
      then: { done: 'SECOND', split: 'SPREADING' },
    },
    SPREADING: {
      does: fanOut('spread', {
        tries: 3,
        within: WITHIN,
        beats: BEATS,
        progressWithin: PROGRESS,
        width: 8,
        needs: 'all',
        spent: { move: 'FAILED' },
      }),
      then: { done: 'SECOND' },
    },
    SECOND: {
      does: stage('second', {
        tries: 3,
        within: WITHIN,
        beats: BEATS,
        progressWithin: PROGRESS,
        spent: { move: 'FAILED' },
      }),
      then: { done: 'THIRD', ask: 'AWAITING' },
    },
    AWAITING: { awaits: 'owner', then: { approve: 'THIRD', reject: 'FAILED' } },
    THIRD: {
      does: stage('third', {
        tries: 3,
        within: WITHIN,
        beats: BEATS,
        progressWithin: PROGRESS,
        spent: { move: 'FAILED' },
      }),
      then: { done: 'DONE' },
    },
    DONE: { ends: 'done' },
    FAILED: { ends: 'failed', reopens: 'FIRST' },
  },
});
