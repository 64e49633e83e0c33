import { once } from 'node:events';
import { hostname } from 'node:os';
import { type ApiDeps, type ApiSettings, type App, buildApp } from '../api/app.js';
import type { AuthSettings } from '../api/auth.js';
import { startCourier } from '../api/courier.js';
import { startDispatcher } from '../api/dispatcher.js';
import { within } from '../api/engine-health.js';
import { startLoop } from '../api/loop.js';
import { buildMetricsApp } from '../api/metrics-app.js';
import { startSweepWatch } from '../api/sweep-watch.js';
import { countStarts } from '../api/tell-engine.js';
import { startWatcher } from '../api/watcher.js';
import { type Config, ConfigError, loadConfig } from '../config.js';
import { hasShortStage } from '../core/machine.js';
import { closeQuiet } from '../db/breaker-list.js';
import { schedulesOf } from '../core/schedules.js';
import { createPool } from '../db/client.js';
import { rollUpHours } from '../db/hourly-metrics.js';
import { createPrisma } from '../db/prisma.js';
import { createLogger } from '../telemetry/logger.js';
import { createMetrics } from '../telemetry/metrics.js';
import { createTemporalClient } from '../temporal/connection.js';
import { createTemporalEngine } from '../temporal/engine.js';
import { createTemporalSchedules } from '../temporal/schedules.js';
import { channelsOf } from './channels.js';
import { runMaintenance } from './maintenance.js';
import { pipelinesOf } from './pipelines.js';
import { runProcess } from './run-process.js';
import { takeOverLogsAndSignals } from './temporal-runtime.js';

/** A megabyte: what is larger than that is uploaded, not posted. */
const BODY_LIMIT_BYTES = 1_048_576;

/** A loop that is late by half a second on average makes every answer at least that late. */
const MAX_EVENT_LOOP_DELAY_MS = 500;

/** A breaker that holds nobody shows as degraded for this much longer than it must. */
const CLOSE_QUIET_EVERY_MS = 5_000;
/** The present hour is shown a minute late at most. In this process and not in a sweep: the figures of an hour in which Temporal
 *  was away are the ones that somebody wants to see. */
const ROLL_UP_EVERY_MS = 60_000;

/** Serves until `stop` is aborted; then lets what is in flight end. Neither Postgres nor Temporal must be there. */
async function runApi(config: Config, stop: AbortSignal): Promise<void> {
  const { databaseUrl, directUrl, temporalAddress, auth } = neededOf(config);
  const logger = createLogger({ name: 'api', level: config.logLevel });
  takeOverLogsAndSignals(logger);
  const metrics = createMetrics();
  const pool = createPool({ url: databaseUrl, size: config.database.poolSize, name: 'api' });
  const prisma = createPrisma(pool);
  const client = createTemporalClient({ ...config.temporal, address: temporalAddress });
  const pipelines = pipelinesOf(config);
  const short = new Set(
    Object.values(pipelines)
      .filter(hasShortStage)
      .map((each) => each.name),
  );
  const engine = createTemporalEngine(client, { isShort: (name) => short.has(name) });
  const dispatcher = startDispatcher({ pool, engine: countStarts(engine, metrics, 'dispatcher'), pipelines, logger });
  const watcher = startWatcher({ directUrl, pool, engine, logger, goneForMs: config.worker.goneForMs });
  const courier = startCourier({ pool, channels: channelsOf(config, logger), policy: config.notify, logger, metrics });
  const breakers = startLoop({
    everyMs: CLOSE_QUIET_EVERY_MS,
    name: 'breakers',
    logger,
    async turn() {
      for (const closed of await closeQuiet(pool, pipelines))
        logger.info(closed, 'breaker closed: nothing waits for it');
    },
  });
  const schedules = createTemporalSchedules(client, schedulesOf(pipelines, config.schedules));
  const sweeps = startSweepWatch({ pool, schedules, logger });
  const identity = `api@${hostname()}:${String(process.pid)}`;
  const over = new AbortController();
  const maintenance = runMaintenance(
    { config, pool, engine, pipelines, identity, logger },
    { client, rows: schedules.rows },
    over.signal,
  );
  const rollUp = startLoop({
    everyMs: ROLL_UP_EVERY_MS,
    name: 'roll-up of hourly metrics',
    logger,
    async turn() {
      await rollUpHours(pool, pipelines, config.kept.hourlyMetricsMs);
    },
  });
  const { rateLimitPerMinute, maxStreams, maxStreamsPerCaller } = config.api;
  const limits = {
    ...{ rateLimitPerMinute, maxStreams, maxStreamsPerCaller },
    maxEventLoopDelayMs: MAX_EVENT_LOOP_DELAY_MS,
  };
  const settings = { auth, limits, bodyLimitBytes: BODY_LIMIT_BYTES, temporalUi: temporalUiOf(config) };
  const deps: ApiDeps = {
    pool,
    prisma,
    engine: countStarts(engine, metrics, 'api'),
    schedules,
    pipelines,
    dispatcher,
    watcher,
    sweeps,
    logger,
    metrics,
    settings,
  };
  const app = await buildApp(deps);
  const metricsApp = config.api.metricsPort === undefined ? undefined : buildMetricsApp(deps);

  async function close(): Promise<void> {
    const loops = [dispatcher, watcher, courier, breakers, rollUp, sweeps];
    over.abort();
    await Promise.all([app.close(), metricsApp?.close(), maintenance, ...loops.map((each) => each.stop())]);
    await prisma.$disconnect();
    await Promise.all([pool.end(), client.connection.close()]);
  }

  try {
    await listen(app, config.api.host, config.api.port, 'PORT');
    if (metricsApp && config.api.metricsPort) {
      await listen(metricsApp, config.api.host, config.api.metricsPort, 'METRICS_PORT');
    }
    process.send?.({ ready: true });
    logger.info({ host: config.api.host, port: config.api.port }, 'api ready');
    if (!stop.aborted) await once(stop, 'abort');
  } finally {
    await within(config.shutdownGraceMs, close()).catch((error: unknown) => {
      logger.warn({ err: error }, 'api did not close in time');
    });
  }
}

interface Needed {
  databaseUrl: string;
  directUrl: string;
  temporalAddress: string;
  auth: AuthSettings;
}

function neededOf({ database, temporal, auth }: Config): Needed {
  const { secret, jwksUrl, issuer, audience } = auth;
  const keys = secret === undefined ? jwksUrl !== undefined && { jwksUrl } : { secret };
  const { url: databaseUrl, directUrl } = database;
  if (databaseUrl && directUrl && temporal.address && keys) {
    return { databaseUrl, directUrl, temporalAddress: temporal.address, auth: { ...keys, issuer, audience } };
  }
  throw new ConfigError([
    ...(database.url ? [] : ['DATABASE_URL: expected where Postgres is; npm start brings its own']),
    ...(temporal.address ? [] : ['TEMPORAL_ADDRESS: expected where Temporal is; npm start brings its own']),
    ...(keys ? [] : ['JWT_SECRET: expected (or JWT_JWKS_URL), so that tokens can be checked; npm start makes its own']),
  ]);
}

function temporalUiOf({ temporal }: Config): ApiSettings['temporalUi'] {
  return temporal.uiUrl ? { url: temporal.uiUrl, namespace: temporal.namespace } : null;
}

async function listen(app: App, host: string, port: number, variable: string): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    if (!isTaken) throw error;
    const sentence = `cannot start: port ${String(port)} is in use; end what listens there, or set ${variable}`;
    throw new Error(sentence, { cause: error });
  }
}

await runProcess((stop) => runApi(loadConfig(), stop));
