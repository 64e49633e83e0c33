import { performance } from 'node:perf_hooks';
import type pg from 'pg';
import { retryPatiently } from '../../../../activities/patience.js';
import { databaseFaultOf } from '../../../../db/postgres/database-fault.js';
import type { JobPage } from '../../../../ports/job.js';
import type { Sql } from '../../../../ports/sql.js';
import type { SlaTargets } from '../../core/sla.js';
import { AGGREGATES, type AggregateName } from '../../core/aggregates.js';
import { storeAggregate } from '../../db/aggregates.js';
import { computeSubmissionSla } from '../../db/submission-sla.js';
import { computeSubmissionStats } from '../../db/submission-stats.js';
import { sentenceOf } from './ask-source.js';

type Compute = (sql: Sql) => Promise<object>;

type Computed = Readonly<Record<AggregateName, Compute>>;

/** How the figures are computed, with these promised times. */
export function aggregatesFor(targets: SlaTargets): Computed {
  return {
    'submission-stats': computeSubmissionStats,
    'submission-sla': (sql) => computeSubmissionSla(sql, targets),
  };
}

/** Computes the figures anew and puts them in the place of the last. */
export async function refreshAggregate(sql: Sql, name: AggregateName, computed: Computed): Promise<void> {
  await storeAggregate(sql, name, await computed[name](sql));
}

/** The job that computes the figures for requests. A figure that can't be computed stays as it was, and its age shows
 *  it. The other figures are computed all the same. */
export function createStatsPage(pool: pg.Pool, computed: Computed): JobPage {
  return async (page) => {
    const phases: Record<string, number> = {};
    const errors: string[] = [];
    let refreshed = 0;
    for (const name of AGGREGATES) {
      const begunAt = performance.now();
      page.beat();
      try {
        await retryPatiently(() => refreshAggregate(pool, name, computed), undefined, page);
        refreshed += 1;
      } catch (error) {
        if (page.signal.aborted || databaseFaultOf(error) === 'away') throw error;
        errors.push(`${name}: ${sentenceOf(error)}`);
      }
      phases[name] = Math.round(performance.now() - begunAt);
    }
    // Runs in which all went well share one row.
    return { counts: { refreshed }, phases, errors, isIdle: errors.length === 0, last: true };
  };
}
