import type pg from 'pg';
import type { JobActivities } from '../../core/jobs.js';
import type { SweepActivities } from '../../core/sweep-page.js';
import { createExecutionActivities } from '../job-runner.js';
import { createRetiredActivities } from '../retired.js';
import { beatWhile } from './beat-while.js';

export interface MaintenanceDeps {
  pool: pg.Pool;
  sweepPage: SweepActivities['sweepPage'];
}

/** The activities of the workflows on the task queue `maintenance`: sweeps, and runs of retention from versions before
 *  `run-job`. */
export function createMaintenanceActivities({ pool, sweepPage }: MaintenanceDeps): JobActivities & SweepActivities {
  return { ...createRetiredActivities(), ...createExecutionActivities(pool), sweepPage: beatWhile(sweepPage) };
}
