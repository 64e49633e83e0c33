import { definePipeline, fanOut, type FanOut, stage } from '../../src/core/pipeline.js';

/** Sample tables, one per shape that a table may have. Small numbers: a test that exhausts tries should not take long. */

const sweep = { every: '10s', staleAfter: '5s', stuckAfter: '15s' } as const;
const rescue = { budget: 3, backoff: ['2s', '5s', '10s'], budgetResetAfter: '24h', oldestRescued: '7d' } as const;

/** One stage per state, and an outcome that picks among several states. */
export const straight = definePipeline({
  name: 'straight',
  start: 'READING',
  sweep,
  rescue: { ...rescue, exhausted: 'FAILED' },
  cancelled: 'CANCELLED',
  states: {
    READING: {
      does: stage('read', { tries: 3, within: '10s', spent: { move: 'FAILED' } }),
      then: { done: 'CHECKING', empty: 'DONE' },
      triggers: { empty: 'nothing-to-do' },
    },
    CHECKING: {
      does: stage('check', { tries: 2, within: '10s', spent: { move: 'FAILED' } }),
      then: { good: 'WRITING', bad: 'FAILED' },
    },
    WRITING: {
      does: stage('write', {
        tries: 3,
        within: '10s',
        beats: '2s',
        progressWithin: '5s',
        backoff: { first: '100ms', max: '400ms' },
        spent: { move: 'FAILED', trigger: 'disk-full' },
      }),
      then: { done: 'DONE' },
    },
    DONE: { ends: 'done' },
    FAILED: { ends: 'failed' },
    CANCELLED: { ends: 'failed' },
  },
});

/** Several stages in one state: critical ones, ones that may fail without failing the item, and one whose spent tries end
 *  the run and leave the item to the sweep. */
export const several = definePipeline({
  name: 'several',
  start: 'WORKING',
  sweep,
  rescue: { ...rescue, exhausted: 'FAILED' },
  cancelled: 'FAILED',
  states: {
    WORKING: {
      does: [
        stage('extract', { tries: 3, within: '10s', spent: { move: 'FAILED' } }),
        stage('enrich', { tries: 2, within: '10s', spent: 'skip' }),
        stage('judge', { tries: 3, within: '10s', spent: 'leave' }),
        stage('remember', { tries: 3, within: '10s', spent: { move: 'FAILED' } }),
        stage('summarise', { tries: 2, within: '10s', spent: 'skip' }),
      ],
      then: { done: 'DONE' },
    },
    DONE: { ends: 'done' },
    FAILED: { ends: 'failed', reopens: 'WORKING' },
  },
});

/** Prepare, upload × N, finish, all in one state; whether a failed unit fails the item is the argument. */
function spreading<const Name extends string>(name: Name, needs: FanOut['needs']) {
  return definePipeline({
    name,
    start: 'PROCESSING',
    sweep,
    rescue: { ...rescue, exhausted: 'FAILED' },
    cancelled: 'FAILED',
    states: {
      PROCESSING: {
        does: [
          stage('prepare', { tries: 3, within: '10s', spent: { move: 'FAILED' } }),
          fanOut('upload', { tries: 2, within: '10s', width: 4, needs, spent: { move: 'FAILED' } }),
          stage('finish', { tries: 3, within: '10s', spent: { move: 'FAILED' } }),
        ],
        then: { done: 'DONE', partial: 'DONE_IN_PART' },
      },
      DONE: { ends: 'done' },
      DONE_IN_PART: { ends: 'done', reopens: 'PROCESSING' },
      FAILED: { ends: 'failed', reopens: 'PROCESSING' },
    },
  });
}

export const spreadAll = spreading('spread-all', 'all');
export const spreadAny = spreading('spread-any', 'any');
export const spreadAsked = spreading('spread-asked', 'asked');

/** A fan-out as the last stage of its state, and one that has a state to itself, fed from the state before. */
export const spreadLast = definePipeline({
  name: 'spread-last',
  start: 'LISTING',
  sweep,
  rescue: { ...rescue, exhausted: 'FAILED' },
  cancelled: 'FAILED',
  states: {
    LISTING: {
      does: stage('list', { tries: 3, within: '10s', spent: { move: 'FAILED' } }),
      then: { done: 'COPYING', none: 'DONE' },
    },
    COPYING: {
      does: fanOut('copy', { tries: 2, within: '10s', width: 2, needs: 'all', spent: { move: 'FAILED' } }),
      then: { done: 'INDEXING' },
    },
    INDEXING: {
      does: [
        stage('split', { tries: 3, within: '10s', spent: { move: 'FAILED' } }),
        fanOut('index', { tries: 2, within: '10s', width: 3, needs: 'any', spent: { move: 'FAILED' } }),
      ],
      then: { done: 'DONE' },
    },
    DONE: { ends: 'done' },
    FAILED: { ends: 'failed', reopens: 'LISTING' },
  },
});

/** States that await a person, one after the other; exhausted by error class: an outage of the judge is not a verdict. */
export const reviewed = definePipeline({
  name: 'reviewed',
  start: 'JUDGING',
  sweep,
  rescue: {
    ...rescue,
    exhausted: { LLM_ERROR: 'NEEDS_REVIEW', other: 'REJECTED' },
    triggers: { LLM_ERROR: 'judge-unavailable' },
  },
  cancelled: 'REJECTED',
  states: {
    JUDGING: {
      does: stage('judge', { tries: 3, within: '10s', spent: 'leave' }),
      then: { pass: 'PUBLISHING', concerns: 'NEEDS_REVIEW', fail: 'REJECTED' },
    },
    NEEDS_REVIEW: { awaits: 'reviewer', then: { escalate: 'SECOND_REVIEW', reject: 'REJECTED' } },
    SECOND_REVIEW: {
      awaits: 'reviewer',
      then: { approve: 'PUBLISHING', reject: 'REJECTED' },
      triggers: { approve: 'accepted' },
    },
    PUBLISHING: {
      does: stage('publish', { tries: 3, within: '10s', spent: { move: 'REJECTED' } }),
      then: { done: 'PUBLISHED' },
    },
    PUBLISHED: { ends: 'done' },
    REJECTED: { ends: 'failed' },
  },
});

/** Final states that new work or a person reopens. */
export const reopened = definePipeline({
  name: 'reopened',
  start: 'WORKING',
  sweep,
  rescue: { ...rescue, exhausted: 'FAILED' },
  cancelled: 'CANCELLED',
  states: {
    WORKING: {
      does: stage('work', { tries: 2, within: '10s', spent: { move: 'FAILED' } }),
      then: { done: 'FINISHING' },
    },
    FINISHING: {
      does: stage('finish', { tries: 2, within: '10s', spent: { move: 'FAILED' } }),
      then: { done: 'DONE' },
    },
    DONE: { ends: 'done', reopens: 'WORKING' },
    FAILED: { ends: 'failed', reopens: 'WORKING' },
    CANCELLED: { ends: 'failed' },
  },
});

/** States that admit two items at once, one entered from a rest by a claim, the other by a stage's outcome. */
export const admitting = definePipeline({
  name: 'admitting',
  start: 'WAITING',
  sweep,
  rescue: { ...rescue, exhausted: 'FAILED' },
  cancelled: 'FAILED',
  states: {
    WAITING: { rests: 'backlog', then: { claimed: 'HEATING' } },
    HEATING: {
      does: stage('heat', { tries: 3, within: '10s', spent: { move: 'FAILED' } }),
      then: { done: 'COOLING' },
      admits: 2,
    },
    COOLING: {
      does: stage('cool', { tries: 3, within: '10s', spent: { move: 'FAILED' } }),
      then: { done: 'DONE' },
      admits: 2,
    },
    DONE: { ends: 'done' },
    FAILED: { ends: 'failed', reopens: 'WAITING' },
  },
});

/** Rests: left by an event, then by the first claim, which is also where a rescue puts the item back. */
export const resting = definePipeline({
  name: 'resting',
  start: 'registered',
  sweep,
  rescue: { ...rescue, exhausted: 'failed', resumesAt: 'queued' },
  cancelled: 'failed',
  states: {
    registered: { rests: 'awaiting_upload', then: { confirmed: 'queued' } },
    queued: { rests: 'backlog', then: { claimed: 'converting' } },
    converting: {
      does: stage('convert', { tries: 3, within: '10s', spent: { move: 'failed' } }),
      then: { done: 'storing' },
    },
    storing: {
      does: stage('store', { tries: 3, within: '10s', spent: { move: 'failed' } }),
      then: { done: 'ready' },
    },
    ready: { ends: 'done' },
    failed: { ends: 'failed', reopens: 'queued' },
  },
});

/** Picked by a batch, not by a claim: no run is wanted while it rests. Its dedupe key is unique among all there ever were. */
export const batched = definePipeline({
  name: 'batched',
  start: 'active',
  sweep,
  rescue: { ...rescue, exhausted: 'failed', resumesAt: 'active' },
  cancelled: 'failed',
  dedupes: 'all',
  states: {
    active: { rests: 'not_due', then: { picked: 'processing' } },
    processing: {
      does: [
        stage('gather', { tries: 3, within: '10s', spent: { move: 'failed' } }),
        stage('polish', { tries: 2, within: '10s', spent: 'skip' }),
      ],
      then: { done: 'processed' },
      admits: 2,
    },
    processed: { ends: 'done', reopens: 'active' },
    failed: { ends: 'failed', reopens: 'active' },
  },
});

/** A stage so short that it runs as a local activity, before one that does not. */
export const brief = definePipeline({
  name: 'brief',
  start: 'LOOKING',
  sweep,
  rescue: { ...rescue, exhausted: 'FAILED' },
  cancelled: 'FAILED',
  states: {
    LOOKING: {
      does: stage('look', { tries: 3, within: '2s', short: true, spent: { move: 'FAILED' } }),
      then: { known: 'DONE', other: 'WORKING' },
    },
    WORKING: {
      does: stage('work', { tries: 3, within: '10s', spent: { move: 'FAILED' } }),
      then: { done: 'DONE' },
    },
    DONE: { ends: 'done' },
    FAILED: { ends: 'failed' },
  },
});

export const SAMPLE_TABLES = [
  straight,
  several,
  spreadAll,
  spreadAny,
  spreadAsked,
  spreadLast,
  reviewed,
  reopened,
  admitting,
  resting,
  batched,
  brief,
] as const;
