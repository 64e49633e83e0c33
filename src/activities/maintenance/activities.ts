import type pg from 'pg';
import type { JobActivities, RetentionActivities } from '../../core/jobs.js';
import type { SweepActivities } from '../../core/sweep-page.js';
import { beginJob, endJob } from '../../db/recovery/job-executions.js';
import { type Kept, retainBatch } from '../../db/recovery/retention.js';
import { beating } from './beat-while.js';

export interface MaintenanceDeps {
  pool: pg.Pool;
  kept: Kept;
  sweepPage: SweepActivities['sweepPage'];
}

/** What the workflows on the task queue `maintenance` call. */
export function createMaintenanceActivities({ pool, kept, sweepPage }: MaintenanceDeps): Maintenance {
  return {
    beginJob: (begin) => beginJob(pool, begin),
    endJob: (end) => endJob(pool, end),
    retainBatch: (step) => retainBatch(pool, kept, step),
    sweepPage: beating(sweepPage),
  };
}

type Maintenance = JobActivities & RetentionActivities & SweepActivities;
