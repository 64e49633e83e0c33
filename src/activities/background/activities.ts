import { Context } from '@temporalio/activity';
import type pg from 'pg';
import type { StatsActivities } from '../../domains/submission/core/aggregates.js';
import type { DiscoveryActivities, EnrichmentActivities } from '../../domains/submission/core/address/discovery.js';
import type { JobActivities } from '../../core/jobs.js';
import { beginJob, endJob } from '../../db/recovery/job-executions.js';
import { beating } from '../maintenance/beat-while.js';
import { discoverPage, type DiscoveryDeps } from '../../domains/submission/activities/jobs/discovery.js';
import { enrichPage, type EnrichmentDeps } from '../../domains/submission/activities/jobs/enrichment.js';
import { createStats } from './stats.js';

/** What the workflows on the task queue `stats` call. */
export function createStatsActivities(pool: pg.Pool): JobActivities & StatsActivities {
  return { ...jobActivities(pool), refreshAggregate: beating(createStats(pool).refreshAggregate) };
}

/** On `discovery`. */
export function createDiscoveryActivities(deps: DiscoveryDeps): JobActivities & DiscoveryActivities {
  return { ...jobActivities(deps.pool), discoverPage: beating((input) => discoverPage(deps, input, stopSignal())) };
}

/** On `enrichment`. */
export function createEnrichmentActivities(deps: EnrichmentDeps): JobActivities & EnrichmentActivities {
  return { ...jobActivities(deps.pool), enrichPage: beating((input) => enrichPage(deps, input, stopSignal())) };
}

/** Aborted when the run is cancelled or over, or the worker shuts down. */
function stopSignal(): AbortSignal {
  return Context.current().cancellationSignal;
}

function jobActivities(pool: pg.Pool): JobActivities {
  return { beginJob: (begin) => beginJob(pool, begin), endJob: (end) => endJob(pool, end) };
}
