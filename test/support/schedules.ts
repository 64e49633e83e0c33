import { schedulesOf } from '../../src/core/schedules.js';
import { PIPELINES } from '../../src/domains/tables.js';
import { loadConfig } from '../../src/start/parts/from-domains.js';
import { scheduledJobsOf } from '../../src/start/parts/jobs.js';

const config = loadConfig({});

/** Those of an installation in which nothing is set. */
export const SCHEDULES = schedulesOf(PIPELINES, scheduledJobsOf(config), config.schedules);
