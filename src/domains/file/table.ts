import { definePipeline, stage } from '../../core/pipeline.js';

/** The options that all stages share. */
const STAGE = {
  tries: 3,
  backoff: { first: '5s', max: '60s' },
  spent: { move: 'failed' },
} as const;

/** An uploaded file, from its registration until it can be searched. */
export const file = definePipeline({
  name: 'file',
  start: 'registered',
  sweep: { every: '15m', staleAfter: '10m', stuckAfter: '30m' },
  rescue: {
    budget: 3,
    backoff: ['3m', '10m', '30m'],
    budgetResetAfter: '24h',
    oldestRescued: '7d',
    exhausted: 'failed',
    resumesAt: 'queued',
  },
  cancelled: 'failed',
  // A retry begins with the bytes that were uploaded, so it can't begin before `queued`.
  retries: ['queued'],
  // Ten full batches: more than anybody uploads by hand.
  livePerOwner: 5_000,
  // The owner is told of a failure: by webhook, and by mail if the token that registered the file had an address.
  tells: {
    table: 'files',
    column: 'email',
    owner: { facts: { userId: 'owner', fileId: 'id', fileName: 'name' } },
  },
  states: {
    registered: { rests: 'awaiting_upload', then: { uploaded: 'uploaded', confirmed: 'queued' } },
    uploaded: { rests: 'awaiting_upload', then: { confirmed: 'queued' } },
    queued: { rests: 'backlog', then: { claimed: 'extracting' } },
    extracting: {
      // The extractor has a limit of its own for each file. `within` bounds the wait behind a hundred files that all take that long, and
      // `progressWithin` the silence while a file waits or is read. A file that takes longer is hostile or broken, which opens no breaker.
      does: stage('extract', { ...STAGE, within: '6h', progressWithin: '10m', ownFaults: ['SCAN_TIMEOUT'] }),
      then: { done: 'chunking' },
    },
    chunking: {
      does: stage('chunk', { ...STAGE, within: '6h', ownFaults: ['SCAN_TIMEOUT'] }),
      then: { done: 'embedding' },
    },
    embedding: {
      // The largest text has some 20,000 chunks; the local model embeds about ten a second, and files wait for one another.
      does: stage('embed', { ...STAGE, within: '1d', progressWithin: '10m' }),
      then: { done: 'ready' },
    },
    ready: { ends: 'done' },
    failed: { ends: 'failed', reopens: 'queued' },
  },
});
