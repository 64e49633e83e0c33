import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aggregatesFor, refreshAggregate } from '../../../../src/domains/submission/activities/jobs/stats.js';
import { DEFAULT_SLA } from '../../../../src/domains/submission/core/sla.js';
import { makeSubmission } from '../support/submissions.js';
import { ALICE, type TestApi } from '../../../api/setup.js';
import { openSubmissionApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => {
  api = await openSubmissionApi();
});
afterAll(() => api.close());

const url = '/api/v1/submissions/stats';

describe('GET /api/v1/submissions/stats', () => {
  it('is for those who are signed in', async () => {
    expect((await api.call({ url })).statusCode).toBe(401);
  });

  it('says that nothing was computed yet, then what was, with its age, however much has changed since', async () => {
    const { pool } = api.database;
    await makeSubmission(pool, { state: 'NEEDS_REVIEW' });
    expect((await api.call({ url, as: ALICE })).json()).toEqual({ computedAt: null, ageSeconds: null, stats: null });

    await refreshAggregate(pool, 'submission-stats', aggregatesFor(DEFAULT_SLA));
    await pool.query(`UPDATE aggregates SET computed_at = now() - interval '5 minutes'`);
    await makeSubmission(pool);

    const answer = (await api.call({ url, as: ALICE })).json<{ ageSeconds: number; stats: object }>();
    expect(answer.stats).toMatchObject({ total: 1, live: 1, byState: { NEEDS_REVIEW: 1 } });
    expect(answer.ageSeconds).toBeGreaterThanOrEqual(299);
  });
});
