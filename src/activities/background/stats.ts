import type pg from 'pg';
import type { AggregateName, StatsActivities } from '../../domains/submission/core/aggregates.js';
import { storeAggregate } from '../../domains/submission/db/aggregates.js';
import { computeSubmissionSla } from '../../domains/submission/db/submission-sla.js';
import { computeSubmissionStats } from '../../domains/submission/db/submission-stats.js';
import type { Sql } from '../../ports/sql.js';

const COMPUTED: Readonly<Record<AggregateName, (sql: Sql) => Promise<object>>> = {
  'submission-stats': computeSubmissionStats,
  'submission-sla': computeSubmissionSla,
};

export function createStats(pool: pg.Pool): StatsActivities {
  return {
    async refreshAggregate(name) {
      await storeAggregate(pool, name, await COMPUTED[name](pool));
    },
  };
}
