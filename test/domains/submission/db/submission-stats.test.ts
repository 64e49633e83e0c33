import { beforeEach, describe, expect, it } from 'vitest';
import { aggregatesFor, refreshAggregate } from '../../../../src/domains/submission/activities/jobs/stats.js';
import { findAggregate } from '../../../../src/domains/submission/db/aggregates.js';
import { DEFAULT_SLA } from '../../../../src/domains/submission/core/sla.js';
import { computeSubmissionSla } from '../../../../src/domains/submission/db/submission-sla.js';
import { computeSubmissionStats } from '../../../../src/domains/submission/db/submission-stats.js';
import { countAll, forgetFigures } from '../../../support/figures.js';
import { useSpine } from '../../../support/spine.js';
import { makeSubmission } from '../support/submissions.js';

const spine = useSpine();
beforeEach(async () => {
  await spine.pool.query('TRUNCATE items, aggregates CASCADE');
  await forgetFigures(spine.limited);
});

const DAY = 86_400;

describe('statistics of submissions', () => {
  it('show zero counts and unknown shares when there are no submissions', async () => {
    expect(await computeSubmissionStats(spine.pool)).toEqual({
      ...{ total: 0, live: 0, byState: {}, skills: 0, versions: 0, lastDay: { received: 0, ended: 0 } },
      rates: { autoApproveRate: null, needsReviewRate: null, rejectionRate: null, jobFailureRate: null },
    });
  });

  it('count every submission by its state, and rates over a week', async () => {
    const { pool } = spine;
    const approved = {
      state: 'PUBLISHED',
      endedAgo: 5,
      moves: [
        ['AUTO_APPROVED', 10],
        ['PUBLISHED', 5],
      ],
    } as const;
    await makeSubmission(pool, approved);
    await makeSubmission(pool, {
      ...approved,
      moves: [
        ['AUTO_APPROVED', 9 * DAY],
        ['PUBLISHED', 9 * DAY],
      ],
    });
    await makeSubmission(pool, { state: 'NEEDS_REVIEW', moves: [['NEEDS_REVIEW', 10]] });
    await makeSubmission(pool, { state: 'TIER1_FAILED', endedAgo: 1, moves: [['TIER1_FAILED', 1]] });
    await makeSubmission(pool, {
      state: 'REJECTED',
      endedAgo: 1,
      moves: [['REJECTED', 1, 'stuck-exhausted', 'system']],
    });
    await makeSubmission(pool, { state: 'REJECTED', endedAgo: 1, moves: [['REJECTED', 1, 'cancelled', 'user']] });
    await makeSubmission(pool, {
      ...{ state: 'REJECTED', endedAgo: 1 },
      moves: [
        ['NEEDS_REVIEW', 9],
        ['REJECTED', 1, 'admin-reject', 'admin'],
      ],
    });

    await countAll(spine.limited);
    expect(await computeSubmissionStats(pool)).toMatchObject({
      total: 7,
      live: 1,
      byState: { PUBLISHED: 2, NEEDS_REVIEW: 1, TIER1_FAILED: 1, REJECTED: 3 },
      rates: { autoApproveRate: 1 / 4, needsReviewRate: 2 / 4, rejectionRate: 2 / 4, jobFailureRate: 1 / 4 },
    });
  });
});

describe('the last day', () => {
  it('counts what came and what ended in its hours, and nothing before', async () => {
    const { pool } = spine;
    await makeSubmission(pool);
    await makeSubmission(pool, { state: 'NEEDS_REVIEW', createdAgo: 2 * DAY, moves: [['NEEDS_REVIEW', 60]] });
    await makeSubmission(pool, { state: 'REJECTED', createdAgo: 2 * DAY, endedAgo: 60, moves: [['REJECTED', 60]] });
    await makeSubmission(pool, { state: 'PUBLISHED', createdAgo: 60, endedAgo: 1, moves: [['PUBLISHED', 1]] });
    await makeSubmission(pool, {
      ...{ state: 'TIER1_FAILED', createdAgo: 3 * DAY, endedAgo: 2 * DAY },
      moves: [['TIER1_FAILED', 2 * DAY]],
    });
    await countAll(spine.limited);
    const { total, lastDay } = await computeSubmissionStats(pool);
    expect([total, lastDay.received, lastDay.ended]).toEqual([5, 2, 2]);
  });
});

describe('what is promised of submissions', () => {
  it('is measured on attempts that gave an outcome and on items that ended by themselves', async () => {
    const { pool } = spine;
    for (const ms of [100, 200, 900]) {
      await makeSubmission(pool, {
        ...{ state: 'PUBLISHED', createdAgo: 40, endedAgo: 10 },
        moves: [
          ['AUTO_APPROVED', 13],
          ['PUBLISHED', 10],
        ],
        stages: { scanTier1: ms, judgeTier2: ms * 10, fetch: 60_000 },
      });
    }
    await makeSubmission(pool, { state: 'REJECTED', createdAgo: 500, moves: [['REJECTED', 1, 'cancelled', 'user']] });
    await countAll(spine.limited);

    const sla = await computeSubmissionSla(pool, DEFAULT_SLA);
    expect(sla.tier1).toMatchObject({ sampleSize: 3, withinTypical: 2, withinP95: 3 });
    // The durations lie in the buckets up to 100, 250 and 1,000 ms.
    expect([sla.tier1.p50, sla.tier1.p95]).toEqual([expect.closeTo(175, 0), expect.closeTo(925, 0)]);
    expect(sla.tier2).toMatchObject({ sampleSize: 3, withinTypical: 3 });
    expect(sla.approveToPublish).toMatchObject({ sampleSize: 3, withinTypical: 3 });
    expect(sla.endToEnd).toMatchObject({ sampleSize: 3, withinP95: 3 });
    expect(sla.review.sampleSize).toBe(0);
  });

  it('counts the days of a review by the week’s work days, and not as time without one', async () => {
    await makeSubmission(spine.pool, {
      ...{ state: 'REJECTED', createdAgo: 15 * DAY, endedAgo: DAY },
      moves: [
        ['NEEDS_REVIEW', 15 * DAY],
        ['REJECTED', DAY, 'admin-reject', 'admin'],
      ],
    });
    await countAll(spine.limited);
    const { review, endToEnd } = await computeSubmissionSla(spine.pool, DEFAULT_SLA);
    // Two whole weeks have ten work days, whenever they begin.
    expect(review).toMatchObject({ sampleSize: 1, p50: expect.closeTo(10, 3) as number, withinTypical: 0 });
    expect(endToEnd.sampleSize).toBe(0);
  });
});

describe('refreshing them', () => {
  it('keeps the figures with the time they were computed at, and the last ones until then', async () => {
    expect(await findAggregate(spine.pool, 'submission-stats')).toBeNull();
    await refreshAggregate(spine.limited, 'submission-stats', aggregatesFor(DEFAULT_SLA));
    await spine.pool.query(`UPDATE aggregates SET computed_at = now() - interval '90 seconds'`);
    await makeSubmission(spine.pool);

    const before = await findAggregate<{ total: number }>(spine.pool, 'submission-stats');
    expect(before).toMatchObject({ figures: { total: 0 } });
    expect(before?.ageMs).toBeGreaterThanOrEqual(89_000);
    await refreshAggregate(spine.limited, 'submission-stats', aggregatesFor(DEFAULT_SLA));
    const after = await findAggregate<{ total: number }>(spine.pool, 'submission-stats');
    expect(after).toMatchObject({ figures: { total: 1 } });
    expect(after?.ageMs).toBeLessThan(60_000);
  });
});
