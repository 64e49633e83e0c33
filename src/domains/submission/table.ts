import { definePipeline, stage } from '../../core/pipeline.js';

const FETCH = {
  tries: 2,
  // There is one more try: a server that refuses or breaks off is well again after half a minute rather than after a second.
  backoff: { first: '30s', max: '30s' },
  // A minute for git, and as long again for a slow database: a fetch ends by its own limit first.
  within: '2m',
} as const;

const PUBLISH = { tries: 3, within: '60s', spent: 'leave' } as const;

/** A skill is submitted, scanned, judged, perhaps reviewed by a person, and published with a version, or rejected with reasons.
 *  A final state never changes: a rejected skill is submitted again as a new item. */
export const submission = definePipeline({
  name: 'submission',
  start: 'RECEIVED',
  sweep: { every: '5m', staleAfter: '3m', stuckAfter: '5m' },
  rescue: {
    budget: 3,
    backoff: ['3m', '10m', '30m'],
    budgetResetAfter: '24h',
    oldestRescued: '7d',
    // An outage of the judge is not a verdict: a person is asked instead.
    exhausted: { LLM_ERROR: 'NEEDS_REVIEW', other: 'REJECTED' },
    triggers: { LLM_ERROR: 'judge-unavailable' },
  },
  cancelled: 'REJECTED',
  // Not from a later one: who begins there has passed by the scan, or the judge.
  retries: ['RECEIVED', 'TIER1_SCANNING'],
  // Whoever left an address with the submission gets the verdict.
  tells: { table: 'submissions', column: 'email' },
  states: {
    RECEIVED: {
      does: stage('checkVendor', { tries: 3, within: '2s', short: true, spent: 'leave' }),
      then: { vendor: 'VENDOR_APPROVED', other: 'TIER1_SCANNING' },
      triggers: { vendor: 'vendor-auto-verify', other: 'non-vendor-submission' },
      by: 'system',
    },
    // A vendor's skill skips Tier 1, so it is fetched here.
    VENDOR_APPROVED: {
      does: [
        stage('fetchVendor', { ...FETCH, spent: { move: 'REJECTED', trigger: 'fetch-failed' } }),
        stage('publishVendor', PUBLISH),
      ],
      then: { done: 'PUBLISHED' },
      triggers: { done: 'publish-complete' },
      by: 'system',
    },
    TIER1_SCANNING: {
      does: [
        stage('fetch', { ...FETCH, spent: { move: 'TIER1_FAILED' } }),
        stage('scanTier1', {
          // Three retries: a scan that times out may have met a busy machine.
          tries: 4,
          // A worker scans one skill at a time. This bounds the wait for one's turn behind a hundred that all take as long as a
          // scan may; the scan itself ends by its own limit of ten seconds, and its turn is silent for no longer than this.
          within: '30m',
          progressWithin: '2m',
          // It needs nobody but its worker: whoever takes too long does so by what is in it, and keeps nobody else waiting.
          ownFaults: ['SCAN_TIMEOUT'],
          backoff: { first: '30s', max: '2m' },
          spent: { move: 'TIER1_FAILED', trigger: 'tier1-timeout' },
        }),
      ],
      then: { pass: 'TIER2_SCANNING', fail: 'TIER1_FAILED' },
      triggers: { pass: 'tier1-pass', fail: 'tier1-fail' },
    },
    TIER2_SCANNING: {
      // Three tries where another one can help; a judge that takes no request of ours, whatever is in it, is asked once a run.
      does: stage('judgeTier2', { tries: 3, within: '2m', backoff: { first: '5s', max: '20s' }, spent: 'leave' }),
      // What the judge can't judge is no verdict either: a person is asked at once, for another try would end the same way.
      then: { pass: 'AUTO_APPROVED', concerns: 'NEEDS_REVIEW', unjudged: 'NEEDS_REVIEW', fail: 'REJECTED' },
      triggers: { pass: 'tier2-pass', concerns: 'tier2-concerns', unjudged: 'judge-unavailable', fail: 'tier2-fail' },
    },
    NEEDS_REVIEW: {
      awaits: 'admin',
      then: { escalate: 'TIER3_REVIEW', reject: 'REJECTED' },
      needsReason: ['reject'],
    },
    // Approving publishes in the decision's own transaction: what was scanned is there already.
    TIER3_REVIEW: { awaits: 'review', then: { approve: 'PUBLISHED', reject: 'REJECTED' }, needsReason: ['reject'] },
    AUTO_APPROVED: {
      does: stage('publish', PUBLISH),
      then: { done: 'PUBLISHED' },
      triggers: { done: 'publish-complete' },
      by: 'system',
    },
    PUBLISHED: { ends: 'done' },
    REJECTED: { ends: 'failed' },
    TIER1_FAILED: { ends: 'failed' },
  },
});
