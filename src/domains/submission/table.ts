import { definePipeline, stage } from '../../core/pipeline.js';

const FETCH = {
  tries: 2,
  // Half a minute before the only other try, because a server that refuses or breaks off seldom recovers within a
  // second.
  backoff: { first: '30s', max: '30s' },
  // A minute for git, and as long again for a slow database. A fetch reaches git's own limit first.
  within: '2m',
} as const;

const PUBLISH = { tries: 3, within: '60s', spent: 'leave' } as const;

/** A skill is submitted, scanned, judged, perhaps reviewed by a person, and published with a version, or rejected with
 *  reasons. A final state never changes: a rejected skill is submitted again as a new item. */
export const submission = definePipeline({
  name: 'submission',
  start: 'RECEIVED',
  sweep: { every: '5m', staleAfter: '3m', stuckAfter: '5m' },
  rescue: {
    budget: 3,
    backoff: ['3m', '10m', '30m'],
    budgetResetAfter: '24h',
    oldestRescued: '7d',
    // An outage of the judge is not a verdict, so a person decides instead.
    exhausted: { LLM_ERROR: 'NEEDS_REVIEW', other: 'REJECTED' },
    triggers: { LLM_ERROR: 'judge-unavailable' },
  },
  cancelled: 'REJECTED',
  // Two and a half bulks: more than anybody follows by hand.
  livePerOwner: 500,
  // A retry begins in none of the later states, because it would skip the scan or the judge.
  retries: ['RECEIVED', 'TIER1_SCANNING'],
  // The verdict is sent to the email address of the submission, if it has one.
  tells: { table: 'submissions', column: 'email' },
  states: {
    RECEIVED: {
      does: stage('checkVendor', { tries: 3, within: '2s', short: true, spent: 'leave' }),
      then: { vendor: 'VENDOR_APPROVED', other: 'TIER1_SCANNING' },
      triggers: { vendor: 'vendor-auto-verify', other: 'non-vendor-submission' },
      by: 'system',
    },
    // A vendor's skill skips TIER1_SCANNING, so it is fetched here.
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
          // Three retries, because a scan may time out on a busy machine.
          tries: 4,
          // A worker scans one skill at a time, and a scan has its own limit of ten seconds. `within` bounds the wait
          // behind a hundred scans that all take that long. `progressWithin` bounds the silence while a scan waits or
          // runs.
          within: '30m',
          progressWithin: '2m',
          // A scan depends on nothing but its worker. A timeout is the skill's own fault and must not open the breaker.
          ownFaults: ['SCAN_TIMEOUT'],
          backoff: { first: '30s', max: '2m' },
          spent: { move: 'TIER1_FAILED', trigger: 'tier1-timeout' },
        }),
      ],
      then: { pass: 'TIER2_SCANNING', fail: 'TIER1_FAILED' },
      triggers: { pass: 'tier1-pass', fail: 'tier1-fail' },
    },
    TIER2_SCANNING: {
      // Three tries where another try can help. A judge that refuses every request is asked once a run.
      does: stage('judgeTier2', { tries: 3, within: '2m', backoff: { first: '5s', max: '20s' }, spent: 'leave' }),
      // A skill that the judge can't judge has no verdict. A person decides at once, because another try would end the
      // same way.
      then: { pass: 'AUTO_APPROVED', concerns: 'NEEDS_REVIEW', unjudged: 'NEEDS_REVIEW', fail: 'REJECTED' },
      triggers: { pass: 'tier2-pass', concerns: 'tier2-concerns', unjudged: 'judge-unavailable', fail: 'tier2-fail' },
    },
    NEEDS_REVIEW: {
      awaits: 'reviewer',
      then: { escalate: 'TIER3_REVIEW', reject: 'REJECTED' },
      // The specification's words for the audit trail.
      triggers: { escalate: 'admin-escalate', reject: 'admin-reject' },
      needsReason: ['reject'],
    },
    // Approving publishes in the decision's own transaction, because the scanned content is stored already.
    TIER3_REVIEW: {
      awaits: 'reviewer',
      then: { approve: 'PUBLISHED', reject: 'REJECTED' },
      triggers: { approve: 'review-approve', reject: 'review-reject' },
      needsReason: ['reject'],
    },
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
