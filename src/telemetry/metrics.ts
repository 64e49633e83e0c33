import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { canOpen } from '../core/breaker.js';
import { ERROR_CLASSES } from '../core/error-class.js';
import type { MetricShape } from '../core/metric.js';
import { WORKER_SILENT_SECONDS } from '../core/worker-silence.js';
import { registerShown, type ShownMetric } from './shown-metric.js';

/** All metrics of the engine. Labels come from tables and routes and never from ids, so that their number is
 *  bounded. */
export interface Metrics {
  registry: Registry;
  httpDuration: Histogram<'method' | 'route' | 'status'>;
  /** Runs that the engine was asked to start; `by` is api or dispatcher, `result` is ok or failed. */
  runStarts: Counter<'by' | 'result'>;
  items: Gauge<'pipeline' | 'state'>;
  oldestItem: Gauge<'pipeline' | 'state'>;
  refusedCommits: Counter<'pipeline' | 'stage'>;
  workersPresent: Gauge;
  workerDeaths: Counter;
  /** Tries of this process to deliver a notification; `result` is delivered, retried or given_up. */
  deliveries: Counter<'channel' | 'result'>;
  undelivered: Gauge<'channel'>;
  breakerOpen: Gauge<'pipeline' | 'class'>;
  queueDepth: Gauge<'pipeline' | 'stage'>;
  /** `reason` is the reason of the diagnosis; `result` is waiting, moving, exhausted, parked or poison. */
  recoveries: Gauge<'pipeline' | 'reason' | 'result'>;
  /** `outcome` is the stage's word, or how an attempt that is not done ended: error, crash, shutdown, superseded, given_back. */
  stageDuration: ShownMetric;
  /** `class` is an error class. */
  stageErrors: ShownMetric;
  figuresAge: Gauge;
  failureRate: Gauge<'pipeline'>;
  parked: Gauge<'pipeline'>;
  /** `status` is running, or waiting for a place. */
  isolatedStages: Gauge<'pipeline' | 'status'>;
  isolatedDeaths: Gauge<'pipeline'>;
  sweepInterval: Gauge<'pipeline'>;
  sweepAge: Gauge<'pipeline'>;
  sweepDuration: Gauge<'pipeline'>;
  sweepExamined: Gauge<'pipeline'>;
  stuck: Gauge<'pipeline' | 'reason'>;
  /** `why` is skipped (the run before was still going on) or missed (Temporal was away). */
  leftOutRuns: Counter<'schedule' | 'why'>;
  temporalReachable: Gauge;
  taskQueueBacklog: Gauge<'queue'>;
  taskQueuePollers: Gauge<'queue'>;
  scrapeFailed: Gauge;
  /** A metric of a domain, registered when it is first asked for. */
  ofDomain(shape: MetricShape): ShownMetric;
}

/** From the time of one index look-up to the longest time that a statement may take. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];

const SECOND_MS = 1_000;

const STAGE_DURATION: MetricShape = {
  name: 'unstuck_stage_duration_seconds',
  help: 'Duration of attempts at a stage since the beginning, by outcome, or by how an attempt that is not done ended',
  type: 'histogram',
  labels: ['pipeline', 'stage', 'outcome'],
};

const STAGE_ERRORS: MetricShape = {
  name: 'unstuck_stage_errors_total',
  help: 'Attempts at a stage that failed or crashed since the beginning, by error class',
  type: 'counter',
  labels: ['pipeline', 'stage', 'class'],
};

export function createMetrics(): Metrics {
  const registry = new Registry();
  const ofDomains = new Map<string, ShownMetric>();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    httpDuration: new Histogram({
      name: 'unstuck_http_request_duration_seconds',
      help: 'Time to answer a request, by route',
      labelNames: ['method', 'route', 'status'],
      buckets: SECONDS,
      registers,
    }),
    runStarts: new Counter({
      name: 'unstuck_run_starts_total',
      help: 'Runs the engine was asked to start by this process',
      labelNames: ['by', 'result'],
      registers,
    }),
    items: new Gauge({
      name: 'unstuck_items',
      help: 'Live items by pipeline and state',
      labelNames: ['pipeline', 'state'],
      registers,
    }),
    oldestItem: new Gauge({
      name: 'unstuck_oldest_item_age_seconds',
      help: 'Age of the oldest live item by pipeline and state',
      labelNames: ['pipeline', 'state'],
      registers,
    }),
    refusedCommits: new Counter({
      name: 'unstuck_refused_commits_total',
      help: 'Commits of superseded attempts that were refused, in all processes since the beginning',
      labelNames: ['pipeline', 'stage'],
      registers,
    }),
    workersPresent: new Gauge({
      name: 'unstuck_workers_present',
      help: `Worker processes that are registered and were seen in the last ${WORKER_SILENT_SECONDS} s`,
      registers,
    }),
    workerDeaths: new Counter({
      name: 'unstuck_worker_deaths_total',
      help: 'Workers that were seen to die without having signed off, since the beginning',
      registers,
    }),
    deliveries: new Counter({
      name: 'unstuck_notification_deliveries_total',
      help: 'Tries of this process to deliver a notification, by channel and result (delivered, retried, given_up)',
      labelNames: ['channel', 'result'],
      registers,
    }),
    undelivered: new Gauge({
      name: 'unstuck_undelivered_notifications',
      help: 'Notifications that wait for their delivery, by channel; unrouted: no channel is chosen yet',
      labelNames: ['channel'],
      registers,
    }),
    breakerOpen: new Gauge({
      name: 'unstuck_breaker_open',
      help: '1 while a storm of failures of this class holds stages of the pipeline back',
      labelNames: ['pipeline', 'class'],
      registers,
    }),
    queueDepth: new Gauge({
      name: 'unstuck_queue_depth',
      help: 'Items, in a fan-out units, that wait for a worker to take this stage; paused and parked items are not counted',
      labelNames: ['pipeline', 'stage'],
      registers,
    }),
    recoveries: new Gauge({
      name: 'unstuck_recoveries_last_hour',
      help: 'Recoveries of the last hour, by reason and result',
      labelNames: ['pipeline', 'reason', 'result'],
      registers,
    }),
    stageDuration: registerShown(registry, STAGE_DURATION, SECOND_MS),
    stageErrors: registerShown(registry, STAGE_ERRORS),
    figuresAge: new Gauge({
      name: 'unstuck_figures_age_seconds',
      help: 'How long ago the figures of stages and hours were whole; left out when nobody has counted yet',
      registers,
    }),
    failureRate: new Gauge({
      name: 'unstuck_job_failure_rate',
      help: 'Share of items that ended in this hour and the hour before because tries were spent or recovery gave them up; verdicts are no failures, cancelled items are not counted; left out when no item ended',
      labelNames: ['pipeline'],
      registers,
    }),
    parked: new Gauge({
      name: 'unstuck_parked_items',
      help: 'Items that only a person drives on',
      labelNames: ['pipeline'],
      registers,
    }),
    isolatedStages: new Gauge({
      name: 'unstuck_isolated_stages',
      help: 'Stages that run in processes of their own, and stages that wait for such a place',
      labelNames: ['pipeline', 'status'],
      registers,
    }),
    isolatedDeaths: new Gauge({
      name: 'unstuck_isolated_deaths_last_hour',
      help: 'Processes of isolated stages that died in the last hour while their worker lived',
      labelNames: ['pipeline'],
      registers,
    }),
    sweepInterval: new Gauge({
      name: 'unstuck_sweep_interval_seconds',
      help: 'How often the pipeline is to be swept; left out where its schedule is switched off',
      labelNames: ['pipeline'],
      registers,
    }),
    sweepAge: new Gauge({
      name: 'unstuck_sweep_age_seconds',
      help: 'Time since the last complete sweep of the pipeline ended; left out when there was none',
      labelNames: ['pipeline'],
      registers,
    }),
    sweepDuration: new Gauge({
      name: 'unstuck_sweep_duration_seconds',
      help: 'Duration of the last complete sweep',
      labelNames: ['pipeline'],
      registers,
    }),
    sweepExamined: new Gauge({
      name: 'unstuck_sweep_examined_items',
      help: 'Silent items that the last sweep looked at',
      labelNames: ['pipeline'],
      registers,
    }),
    stuck: new Gauge({
      name: 'unstuck_stuck_items',
      help: 'Stuck items by reason, as the last sweep saw them; left out when the sweep is late or did not look at all items',
      labelNames: ['pipeline', 'reason'],
      registers,
    }),
    leftOutRuns: new Counter({
      name: 'unstuck_schedule_runs_left_out_total',
      help: 'Runs that a schedule left out: skipped, because the run before was still going on, or missed, because Temporal was away',
      labelNames: ['schedule', 'why'],
      registers,
    }),
    temporalReachable: new Gauge({
      name: 'unstuck_temporal_reachable',
      help: '1 when Temporal answered this process in the last seconds',
      registers,
    }),
    taskQueueBacklog: new Gauge({
      name: 'unstuck_task_queue_backlog',
      help: 'Approximate number of tasks that wait in Temporal for a worker; left out when Temporal does not say',
      labelNames: ['queue'],
      registers,
    }),
    taskQueuePollers: new Gauge({
      name: 'unstuck_task_queue_pollers',
      help: 'Living workers that poll this task queue; left out when Temporal does not say',
      labelNames: ['queue'],
      registers,
    }),
    scrapeFailed: new Gauge({
      name: 'unstuck_scrape_failed',
      help: '1 when the database could not be read for this scrape; the figures from it are then left out',
      registers,
    }),
    ofDomain(shape) {
      const known = ofDomains.get(shape.name) ?? registerShown(registry, shape);
      ofDomains.set(shape.name, known);
      return known;
    },
  };
}

/** Figures that are read from the database at each scrape. */
export interface ScrapedFigures {
  items: readonly { pipeline: string; state: string; count: number; oldestAgeSeconds: number }[];
  refusals: readonly { pipeline: string; stage: string; count: number }[];
  workers: { present: number; deaths: number };
  undelivered: readonly { channel: string; count: number }[];
  openBreakers: readonly { pipeline: string; class: string }[];
}

/** Shows the figures of this scrape. Null: the database could not be read. Unknown is not zero, so the series are then
 *  left out. `liveStates` names the states that are empty when no figure was read for them. */
export function showFigures(
  metrics: Metrics,
  figures: ScrapedFigures | null,
  liveStates: readonly { pipeline: string; state: string }[],
): void {
  metrics.items.reset();
  metrics.oldestItem.reset();
  metrics.refusedCommits.reset();
  metrics.workersPresent.remove();
  metrics.workerDeaths.remove();
  metrics.undelivered.reset();
  metrics.breakerOpen.reset();
  metrics.scrapeFailed.set(figures === null ? 1 : 0);
  if (figures === null) return;
  for (const labels of liveStates) metrics.items.set({ ...labels }, 0);
  for (const { pipeline, state, count, oldestAgeSeconds } of figures.items) {
    metrics.items.set({ pipeline, state }, count);
    metrics.oldestItem.set({ pipeline, state }, oldestAgeSeconds);
  }
  for (const { pipeline, stage, count } of figures.refusals) metrics.refusedCommits.inc({ pipeline, stage }, count);
  metrics.workersPresent.set(figures.workers.present);
  metrics.workerDeaths.inc(figures.workers.deaths);
  for (const { channel, count } of figures.undelivered) metrics.undelivered.set({ channel }, count);
  for (const pipeline of new Set(liveStates.map((each) => each.pipeline))) {
    for (const each of ERROR_CLASSES.filter((each) => canOpen(each)))
      metrics.breakerOpen.set({ pipeline, class: each }, 0);
  }
  for (const { pipeline, class: errorClass } of figures.openBreakers) {
    metrics.breakerOpen.set({ pipeline, class: errorClass }, 1);
  }
}
