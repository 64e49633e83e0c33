import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aggregatesFor, refreshAggregate } from '../../../../src/domains/submission/activities/jobs/stats.js';
import { DEFAULT_SLA } from '../../../../src/domains/submission/core/sla.js';
import { type TestApi, VIEWER } from '../../../api/setup.js';
import { countAll } from '../../../support/figures.js';
import { openSubmissionApi } from '../support/api.js';
import { makeSubmission } from '../support/submissions.js';

let api: TestApi;
beforeAll(async () => {
  api = await openSubmissionApi();
});
afterAll(() => api.close());

async function scrape(): Promise<string[]> {
  const { body } = await api.call({ url: '/metrics', as: VIEWER });
  return body.split('\n').filter((line) => !line.startsWith('#') && !line.startsWith('unstuck_'));
}

describe('the metrics of submissions', () => {
  it('leave unknown rates out, and count from zero', async () => {
    const lines = await scrape();
    expect(lines).toContain('submissions_received_total 0');
    expect(lines.filter((line) => /_rate |compliance|_scan_duration_ms/.test(line))).toEqual([]);
  });

  it('have the names of the specification: received, durations by outcome, rates, compliance with each target', async () => {
    const { pool } = api.database;
    const approved = { state: 'PUBLISHED', createdAgo: 20, endedAgo: 5, stages: { scanTier1: 700, judgeTier2: 900 } };
    await makeSubmission(pool, { ...approved, moves: [['AUTO_APPROVED', 12] as const, ['PUBLISHED', 5] as const] });
    await makeSubmission(pool, { state: 'NEEDS_REVIEW', moves: [['NEEDS_REVIEW', 1]], stages: { scanTier1: 100 } });
    await makeSubmission(pool, { state: 'REJECTED', endedAgo: 1, moves: [['REJECTED', 1]] });
    await makeSubmission(pool, { state: 'REJECTED', endedAgo: 1, moves: [['REJECTED', 1, 'cancelled', 'user']] });
    await countAll(pool);
    await refreshAggregate(pool, 'submission-stats', aggregatesFor(DEFAULT_SLA));
    await refreshAggregate(pool, 'submission-sla', aggregatesFor(DEFAULT_SLA));

    const lines = await scrape();

    expect(lines).toEqual(
      expect.arrayContaining([
        'submissions_received_total 4',
        'tier1_scan_duration_ms_bucket{outcome="pass",le="500"} 1',
        'tier1_scan_duration_ms_bucket{outcome="pass",le="1000"} 2',
        'tier1_scan_duration_ms_bucket{outcome="pass",le="+Inf"} 2',
        'tier1_scan_duration_ms_count{outcome="pass"} 2',
        'tier2_scan_duration_ms_count{outcome="pass"} 1',
        `auto_approve_rate ${1 / 3}`,
        `needs_review_rate ${1 / 3}`,
        'rejection_rate 0.5',
        'submission_sla_compliance{target="tier1",level="typical"} 0.5',
        'submission_sla_compliance{target="tier1",level="p95"} 1',
        'submission_sla_compliance{target="approveToPublish",level="typical"} 0',
        'submission_sla_compliance{target="endToEnd",level="p95"} 1',
      ]),
    );
    expect(lines.filter((line) => line.includes('target="review"'))).toEqual([]);
  });

  it('leave out rates that nobody has refreshed for an hour', async () => {
    await api.database.pool.query(`UPDATE aggregates SET computed_at = now() - interval '61 minutes'`);
    expect((await scrape()).filter((line) => /_rate |compliance/.test(line))).toEqual([]);
  });
});
