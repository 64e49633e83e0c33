import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DiscoverPageInput } from '../../src/domains/submission/core/address/discovery.js';
import { type Maintenance, openMaintenance } from '../support/maintenance.js';
import { RECORDED_JOBS } from '../support/recorded-jobs.js';

let maintenance: Maintenance;
beforeAll(async () => {
  maintenance = await openMaintenance();
});
afterAll(() => maintenance.close());

async function played(name: keyof typeof RECORDED_JOBS, job: string) {
  await RECORDED_JOBS[name]?.(maintenance);
  return (await maintenance.jobs(job)).at(-1);
}

describe('the refresh of statistics', () => {
  it('refreshes one after the other, and runs in which all went well share a row', async () => {
    await played('stats-refreshed', 'stats-refresh');
    expect(await played('stats-refreshed', 'stats-refresh')).toMatchObject({
      ...{ status: 'completed', runs: 2, result: { refreshed: 2 }, errors: [] },
      phases: { 'submission-stats': expect.any(Number) as number, 'submission-sla': expect.any(Number) as number },
    });
  });

  it('goes on with the next when one fails, and says so', async () => {
    expect(await played('stats-step-failed', 'stats-refresh')).toMatchObject({
      ...{ status: 'completed', runs: 1, result: { refreshed: 1 } },
      errors: ['submission-stats: the statement took too long'],
    });
  });
});

describe('a run of discovery', () => {
  it('examines no more than it may, and adds up what its pages did', async () => {
    expect(await played('discover-pages', 'discover-npm')).toMatchObject({
      status: 'completed',
      result: { seen: 200, examined: 7, submitted: 2, byOutcome: { submitted: 2, no_skill: 5 }, isWhole: false },
      errors: ['one could not be read', 'one could not be read'],
    });
  });

  it('ends, though the registry shows the same page for ever', async () => {
    let asked = 0;
    const discoverPage = async ({ from }: DiscoverPageInput) => {
      asked += 1;
      return { seen: 100, examined: 0, submitted: 0, byOutcome: {}, errors: [], next: from };
    };
    const worker = await maintenance.work({ activities: { discoverPage } });
    await maintenance.play('discover-npm', { keyword: 'skill', perRun: 20 });
    await worker.stop();
    expect(asked).toBe(30);
  });

  it('that fails is written down as failed', async () => {
    expect(await played('discover-failed', 'discover-npm')).toMatchObject({
      status: 'failed',
      errors: ['the database is away'],
    });
  });
});

describe('a run of enrichment', () => {
  it('turns pages until the last', async () => {
    expect(await played('enrich-pages', 'enrich-skills')).toMatchObject({
      status: 'completed',
      result: { examined: 8, known: 8, isWhole: true },
    });
  });
});
