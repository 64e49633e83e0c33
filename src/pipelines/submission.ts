import { definePipeline, stage } from '../core/pipeline.js';

/** A minute for git, and as long again for a slow database: a fetch ends by its own limit first. */
const FETCH_WITHIN = '2m';

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
    // It fetches too, for a vendor's skill skips Tier 1; hence a name and an end of its own.
    VENDOR_APPROVED: {
      does: stage('publishVendor', {
        tries: 2,
        within: FETCH_WITHIN,
        spent: { move: 'REJECTED', trigger: 'fetch-failed' },
      }),
      then: { done: 'PUBLISHED' },
      triggers: { done: 'publish-complete' },
      by: 'system',
    },
    TIER1_SCANNING: {
      does: [
        stage('fetch', { tries: 2, within: FETCH_WITHIN, spent: { move: 'TIER1_FAILED' } }),
        stage('scanTier1', {
          // Three retries: a scan that times out may have met a busy machine.
          tries: 4,
          // A worker scans one skill at a time, and a hundred may wait for their turn; a scan itself ends by its own limit.
          within: '2m',
          backoff: { first: '30s', max: '2m' },
          spent: { move: 'TIER1_FAILED', trigger: 'tier1-timeout' },
        }),
      ],
      then: { pass: 'TIER2_SCANNING', fail: 'TIER1_FAILED' },
      triggers: { pass: 'tier1-pass', fail: 'tier1-fail' },
    },
    TIER2_SCANNING: {
      does: stage('judgeTier2', { tries: 3, within: '2m', backoff: { first: '5s', max: '20s' }, spent: 'leave' }),
      then: { pass: 'AUTO_APPROVED', concerns: 'NEEDS_REVIEW', fail: 'REJECTED' },
      triggers: { pass: 'tier2-pass', concerns: 'tier2-concerns', fail: 'tier2-fail' },
    },
    NEEDS_REVIEW: {
      awaits: 'admin',
      then: { escalate: 'TIER3_REVIEW', reject: 'REJECTED' },
      needsReason: ['reject'],
    },
    // Approving publishes in the decision's own transaction: what was scanned is there already.
    TIER3_REVIEW: { awaits: 'review', then: { approve: 'PUBLISHED', reject: 'REJECTED' }, needsReason: ['reject'] },
    AUTO_APPROVED: {
      does: stage('publish', { tries: 3, within: '60s', spent: 'leave' }),
      then: { done: 'PUBLISHED' },
      triggers: { done: 'publish-complete' },
      by: 'system',
    },
    PUBLISHED: { ends: 'done' },
    REJECTED: { ends: 'failed' },
    TIER1_FAILED: { ends: 'failed' },
  },
});
