import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { aggregatesFor, refreshAggregate } from '../../../../src/domains/submission/activities/jobs/stats.js';
import { DEFAULT_SLA } from '../../../../src/domains/submission/core/sla.js';
import { countAll } from '../../../support/figures.js';
import { makeSubmission } from '../support/submissions.js';
import { ALICE, REVIEWER, type TestApi } from '../../../api/setup.js';
import { submissionDomain } from '../../../../src/domains/submission/domain.js';
import { settingsOf } from '../../../../src/start/parts/domain.js';
import { loadConfig } from '../../../../src/start/parts/from-domains.js';
import { openSubmissionApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => {
  api = await openSubmissionApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('TRUNCATE items, aggregates CASCADE');
});

const DAY = 86_400;
const URL = '/api/v1/admin/sla';

interface Sla {
  ageSeconds: number | null;
  targets: { name: string; sampleSize: number | null; isMet: boolean | null }[];
  overdueReviews: { count: number; items: { id: string; businessDays: number }[] };
}

async function sla(): Promise<Sla> {
  const response = await api.call({ url: URL, as: REVIEWER });
  expect(response.statusCode).toBe(200);
  return response.json<Sla>();
}

describe('GET /api/v1/admin/sla', () => {
  it('names every target, and does not know before anything is computed', async () => {
    const { targets, ageSeconds } = await sla();
    expect(ageSeconds).toBeNull();
    expect(targets.map(({ name, sampleSize, isMet }) => ({ name, sampleSize, isMet }))).toEqual(
      Object.keys(DEFAULT_SLA).map((name) => ({ name, sampleSize: null, isMet: null })),
    );
  });

  it('holds what was measured against each, with the size of the sample', async () => {
    const { pool } = api.database;
    for (const scanTier1 of [100, 200, 1_700]) {
      await makeSubmission(pool, {
        state: 'PUBLISHED',
        createdAgo: 3,
        endedAgo: 1,
        moves: [['PUBLISHED', 1]],
        stages: { scanTier1, judgeTier2: 900 },
      });
    }
    await countAll(pool);
    await refreshAggregate(pool, 'submission-sla', aggregatesFor(DEFAULT_SLA));

    const byName = Object.fromEntries((await sla()).targets.map((each) => [each.name, each]));
    expect(byName['tier1']).toMatchObject({
      ...{ sampleSize: 3, isMet: false, unit: 'ms', withinTypical: 2 / 3 },
      // The durations lie in the buckets up to 100, 250 and 2,500 ms.
      typical: { target: 500, measured: expect.closeTo(175, 0) as number },
      p95: { target: 1_000, measured: expect.closeTo(2_275, 0) as number },
    });
    expect(byName['tier2']).toMatchObject({ sampleSize: 3, isMet: true });
    expect(byName['endToEnd']).toMatchObject({ sampleSize: 3, isMet: true });
    expect(byName['review']).toMatchObject({ sampleSize: 0, isMet: null, withinTypical: null });
  });

  it('lists reviews that are overdue, the longest waiting first: counted from when a person was first asked for', async () => {
    const { pool } = api.database;
    const reviewed = (days: number, state = 'NEEDS_REVIEW') =>
      makeSubmission(pool, { state, createdAgo: days * DAY, enteredAgo: DAY, moves: [['NEEDS_REVIEW', days * DAY]] });
    await reviewed(2);
    // Seven days have five work days, whenever they begin: that is not over five yet.
    await makeSubmission(pool, { state: 'TIER1_SCANNING', createdAgo: 30 * DAY });
    const long = await reviewed(8);
    const longest = await reviewed(21, 'TIER3_REVIEW');

    const { overdueReviews } = await sla();
    expect(overdueReviews.items.map(({ id }) => id)).toEqual([longest, long]);
    expect(overdueReviews.items[0]?.businessDays).toBeCloseTo(15, 2);
    expect(overdueReviews.count).toBe(2);
  });

  it('shows who is overdue on the submission and in the list too, and nobody who does not wait for a person', async () => {
    const after = (days: number, moves: [string, number][], state: string) =>
      makeSubmission(api.database.pool, { state, createdAgo: days * DAY, enteredAgo: DAY, moves });
    const late = await after(
      21,
      [
        ['NEEDS_REVIEW', 21 * DAY],
        ['TIER3_REVIEW', DAY],
      ],
      'TIER3_REVIEW',
    );
    const young = await after(2, [['NEEDS_REVIEW', 2 * DAY]], 'NEEDS_REVIEW');
    const ended = await after(
      21,
      [
        ['NEEDS_REVIEW', 21 * DAY],
        ['REJECTED', DAY],
      ],
      'REJECTED',
    );
    await api.database.pool.query('UPDATE items SET ended_at = entered_at WHERE id = $1', [ended]);

    // Only the database's clock decides ages: this process may be a year behind it.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 365 * DAY * 1_000 });
    onTestFinished(() => void vi.useRealTimers());
    const shown = async (id: string) =>
      (await api.call({ url: `/api/v1/submissions/${id}`, as: REVIEWER })).json<{ review: object | null }>().review;
    expect([await shown(late), await shown(young), await shown(ended)]).toMatchObject([
      { overdue: true },
      { overdue: false },
      null,
    ]);
    const { submissions } = (await api.call({ url: '/api/v1/submissions', as: REVIEWER })).json<{
      submissions: { id: string; overdue: boolean }[];
    }>();
    const overdue = Object.fromEntries(submissions.map((each) => [each.id, each.overdue]));
    expect(overdue).toEqual({ [late]: true, [young]: false, [ended]: false });
  });

  it('is for operators', async () => {
    expect((await api.call({ url: URL, as: ALICE })).statusCode).toBe(403);
  });
});

describe('promised times that an operator sets', () => {
  const environment = { SUBMISSION_SLA: 'tier1=250-1000,review=9-20' };
  let generous: TestApi;
  beforeAll(async () => {
    generous = await openSubmissionApi({ environment });
  });
  afterAll(() => generous.close());

  it('say when a review is due, on every answer that shows it', async () => {
    const moves: [string, number][] = [['NEEDS_REVIEW', 10 * DAY]];
    const id = await makeSubmission(generous.database.pool, { state: 'NEEDS_REVIEW', createdAgo: 10 * DAY, moves });
    const read = async (url: string) => (await generous.call({ url, as: REVIEWER })).json<object>();

    // Ten days have eight work days at most: more than the five of the code, fewer than the nine that are set.
    expect(await read(URL)).toMatchObject({ overdueReviews: { count: 0 } });
    expect(await read(`/api/v1/submissions/${id}`)).toMatchObject({ review: { overdue: false } });
    expect(await read('/api/v1/submissions')).toMatchObject({ submissions: [{ id, overdue: false }] });
  });

  it('are what figures are compared with, once they have been computed for them', async () => {
    const { pool } = generous.database;
    const tier1 = async () => {
      const { targets } = (await generous.call({ url: URL, as: REVIEWER })).json<{ targets: { name: string }[] }>();
      return targets.find(({ name }) => name === 'tier1');
    };
    await makeSubmission(pool, {
      ...{ state: 'PUBLISHED', createdAgo: 3, endedAgo: 1, moves: [['PUBLISHED', 1]], stages: { scanTier1: 400 } },
    });
    await countAll(pool);

    await refreshAggregate(pool, 'submission-sla', aggregatesFor(DEFAULT_SLA));
    expect(await tier1()).toMatchObject({ typical: { target: 250 }, sampleSize: 1, withinTypical: null, isMet: null });

    const { sla: targets } = settingsOf(loadConfig(environment), submissionDomain);
    await refreshAggregate(pool, 'submission-sla', aggregatesFor(targets));
    expect(await tier1()).toMatchObject({ sampleSize: 1, withinTypical: 0, isMet: false });
  });
});
