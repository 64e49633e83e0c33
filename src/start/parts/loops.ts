import { hostname } from 'node:os';
import type { Client } from '@temporalio/client';
import type pg from 'pg';
import type { Logger } from 'pino';
import { startCourier } from '../../loops/courier.js';
import { type Dispatcher, startDispatcher } from '../../loops/dispatcher.js';
import { startEventHub } from '../../loops/event-hub.js';
import { startFigureCounter } from '../../loops/figure-counter.js';
import { type Loop, startLoop } from '../../loops/loop.js';
import { startQueueRenewal } from '../../loops/queue-renewal.js';
import { type SweepWatch, startSweepWatch } from '../../loops/sweep-watch.js';
import { countStarts } from '../../api/items/tell-engine.js';
import { startWatcher, type Watcher } from '../../loops/watcher.js';
import type { Config } from '../../config.js';
import type { Pipeline } from '../../core/pipeline.js';
import { closeQuiet } from '../../db/recovery/close-breaker.js';
import { FIGURE_SOURCES } from '../../db/recovery/count-figures.js';
import type { OpenBlobStore } from '../../ports/blob-store.js';
import type { Engine } from '../../ports/engine.js';
import type { EventHub } from '../../ports/event-hub.js';
import type { Schedules } from '../../ports/schedules.js';
import type { Metrics } from '../../telemetry/metrics.js';
import type { Admission } from './admission.js';
import { channelsOf } from './channels.js';
import { lettersOf } from './from-domains.js';
import { runJobs } from './jobs.js';
import { runMaintenance } from './maintenance.js';
import { endRetiredRuns } from './retired.js';

/** A breaker that holds no item back is shown as degraded for at most this much longer than necessary. */
const CLOSE_QUIET_EVERY_MS = 5_000;

export interface LoopParts {
  config: Config;
  databaseUrl: string;
  directUrl: string;
  pool: pg.Pool;
  client: Client;
  engine: Engine;
  pipelines: Readonly<Record<string, Pipeline>>;
  blobs: OpenBlobStore;
  schedules: Schedules;
  metrics: Metrics;
  logger: Logger;
  admission: Admission;
}

export interface Loops {
  dispatcher: Dispatcher;
  watcher: Watcher;
  sweeps: SweepWatch;
  hub: EventHub;
  stop(): Promise<void>;
}

/** The loops in the API process beside the requests. Each may run in any number of copies. */
export function startLoops(parts: LoopParts): Loops {
  const { config, databaseUrl, directUrl, pool, client, engine, pipelines, blobs, schedules, metrics, logger } = parts;
  const dispatcher = startDispatcher({ pool, engine: countStarts(engine, metrics, 'dispatcher'), pipelines, logger });
  const watcher = startWatcher({ directUrl, pool, engine, logger, goneForMs: config.worker.goneForMs });
  const letters = lettersOf(config);
  const channels = channelsOf(config, logger);
  const { publicUrl } = config.links;
  const courier = startCourier({ pool, channels, letters, policy: config.notify, publicUrl, logger, metrics });
  const sweeps = startSweepWatch({ pool, schedules, logger });
  const hub = startEventHub({ pool, logger });
  const counting = { pool, pipelines, kept: config.kept, logger };
  const renewal = startQueueRenewal({ pool, engine, pipelines, logger, isAdmitted: () => isAdmitted(parts.admission) });
  const small = [
    renewal,
    closeQuietBreakers(parts),
    ...FIGURE_SOURCES.map((source) => startFigureCounter(source, counting)),
  ];
  const over = new AbortController();
  const identity = `api@${hostname()}:${process.pid}`;
  const working = { config, pool, engine, pipelines, blobs, identity, logger, admission: parts.admission };
  const maintenance = runMaintenance(working, { client, rows: schedules.rows }, over.signal);
  const jobs = runJobs({ ...working, databaseUrl }, over.signal);
  const retired = endRetiredRuns(working, client, over.signal);

  async function stop(): Promise<void> {
    over.abort();
    const loops = [dispatcher, watcher, courier, sweeps, hub, ...small];
    await Promise.all([maintenance, jobs, retired, ...loops.map((each) => each.stop())]);
  }
  return { dispatcher, watcher, sweeps, hub, stop };
}

function isAdmitted(admission: Admission): boolean {
  try {
    admission.id();
    return true;
  } catch {
    return false; // the servers have not answered yet
  }
}

function closeQuietBreakers({ pool, pipelines, logger }: LoopParts): Loop {
  return startLoop({
    everyMs: CLOSE_QUIET_EVERY_MS,
    name: 'breakers',
    logger,
    async turn() {
      for (const closed of await closeQuiet(pool, pipelines)) {
        logger.info(closed, 'breaker closed: nothing waits for it');
      }
    },
  });
}
