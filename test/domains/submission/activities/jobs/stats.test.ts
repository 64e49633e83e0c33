import { beforeEach, describe, expect, it } from 'vitest';
import { aggregatesFor, createStatsPage } from '../../../../../src/domains/submission/activities/jobs/stats.js';
import { DEFAULT_SLA } from '../../../../../src/domains/submission/core/sla.js';
import { findAggregate } from '../../../../../src/domains/submission/db/aggregates.js';
import { turnPages } from '../../../../support/job-pages.js';
import { useSpine } from '../../../../support/spine.js';

const spine = useSpine();

beforeEach(async () => {
  await spine.pool.query('TRUNCATE aggregates');
});

describe('the refresh of statistics', () => {
  it('computes all figures, and counts as idle, so that runs in which all went well share a row', async () => {
    const { record, last } = await turnPages(createStatsPage(spine.limited, aggregatesFor(DEFAULT_SLA)), {});

    expect(record).toMatchObject({ counts: { refreshed: 2 }, errors: [], isIdle: true });
    expect(Object.keys(record.phases)).toEqual(['submission-stats', 'submission-sla']);
    expect(last.isWhole).toBe(true);
    expect(await findAggregate(spine.pool, 'submission-stats')).not.toBeNull();
  });

  it('goes on with the next when one fails, and says so', async () => {
    const computed = {
      'submission-stats': () => Promise.reject(new Error('the figure is odd')),
      'submission-sla': async () => ({ all: 'well' }),
    };
    const { record } = await turnPages(createStatsPage(spine.limited, computed), {});

    expect(record).toMatchObject({
      counts: { refreshed: 1 },
      errors: ['submission-stats: the figure is odd'],
      isIdle: false,
    });
    expect(await findAggregate(spine.pool, 'submission-sla')).toMatchObject({ figures: { all: 'well' } });
  });

  it('fails, to be tried again, where the database is away', async () => {
    const away = () => Promise.reject(Object.assign(new Error('no connection'), { code: 'ECONNREFUSED' }));
    const page = createStatsPage(spine.limited, { 'submission-stats': away, 'submission-sla': away });
    await expect(turnPages(page, {})).rejects.toThrow('no connection');
  });
});
