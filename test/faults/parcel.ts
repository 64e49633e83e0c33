import { definePipeline, stage } from '../../src/core/pipeline.js';

/** A table of the test's own: an item that waits for its upload, then for its time, before there is anything to run. No shipped
 *  pipeline rests yet; the mechanisms that hold, move and diagnose such an item are the product's. */
export const parcel = definePipeline({
  name: 'parcel',
  start: 'registered',
  sweep: { every: '5s', staleAfter: '5s', stuckAfter: '10s' },
  rescue: { budget: 3, backoff: ['2s'], budgetResetAfter: '24h', oldestRescued: '7d', exhausted: 'failed' },
  cancelled: 'failed',
  states: {
    registered: { rests: 'awaiting_upload', then: { confirmed: 'scheduled' } },
    scheduled: { rests: 'not_due', then: { picked: 'delivering' } },
    delivering: {
      does: stage('deliver', { tries: 3, within: '10s', spent: { move: 'failed' } }),
      then: { done: 'delivered' },
    },
    delivered: { ends: 'done' },
    failed: { ends: 'failed' },
  },
});
