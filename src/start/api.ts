import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { buildApp } from '../api/app.js';
import type { ApiDeps, ApiSettings, App } from '../api/parts.js';
import type { AuthSettings } from '../api/http/auth.js';
import { giveUpAfter } from '../api/items/engine-health.js';
import { buildMetricsApp } from '../api/metrics-app.js';
import { countStarts } from '../api/items/tell-engine.js';
import { type Config, ConfigError, readVersion } from '../config.js';
import { buildDomainApi, loadConfig } from './parts/from-domains.js';
import { createPool } from '../db/postgres/client.js';
import { createPrisma } from '../db/postgres/prisma.js';
import { createLogger } from '../telemetry/logger.js';
import { createMetrics } from '../telemetry/metrics.js';
import { createTemporalClient } from '../temporal/connection.js';
import { createTemporalJobs } from '../temporal/jobs.js';
import { createTemporalSchedules } from '../temporal/schedules.js';
import { type Admission, seekAdmission } from './parts/admission.js';
import { createOpenBlobStore } from './parts/blob-store.js';
import { createEngine } from './parts/engine.js';
import { startableJobsOf } from './parts/jobs.js';
import { startLoops } from './parts/loops.js';
import { listMissingServers } from './parts/missing-servers.js';
import { pipelinesOf } from './parts/pipelines.js';
import { runProcess, sayReady } from './parts/run-process.js';
import { scheduleRowsOf } from './parts/schedule-rows.js';
import { takeOverLogsAndSignals } from './parts/temporal-runtime.js';

/** Both servers answer in milliseconds, a busy Temporal in a second. */
const FIRST_ANSWER_MS = 2_000;

/** Serves until `stop` is aborted, and a little longer if the settings say so. Then requests in flight may end. Neither
 *  Postgres nor Temporal must be there. */
async function runApi(config: Config, stop: AbortSignal): Promise<void> {
  const { databaseUrl, directUrl, temporalAddress, auth } = neededOf(config);
  const logger = createLogger({ name: 'api', level: config.logLevel });
  takeOverLogsAndSignals(logger);
  const metrics = createMetrics();
  const pool = createPool({ url: databaseUrl, size: config.database.poolSize, name: 'api' });
  const prisma = createPrisma(pool);
  const client = createTemporalClient({ ...config.temporal, address: temporalAddress });
  const pipelines = pipelinesOf(config);
  const rows = scheduleRowsOf(config, pipelines);
  const admission = seekAdmission({ config, sql: pool, client, rows, logger }, stop);
  await awaitFirstAnswer(admission);
  const engine = createEngine(client, pipelines, admission);
  const schedules = createTemporalSchedules(client, rows, admission);
  const blobs = createOpenBlobStore(config);
  const databases = { databaseUrl, directUrl, pool };
  const loops = startLoops({
    config,
    ...databases,
    client,
    engine,
    pipelines,
    blobs,
    schedules,
    metrics,
    logger,
    admission,
  });
  const { rateLimitPerMinute, maxStreams, maxStreamsPerCaller, maxEventLoopDelayMs } = config.api;
  const limits = { rateLimitPerMinute, maxStreams, maxStreamsPerCaller, maxEventLoopDelayMs };
  const sendsMail = config.notify.smtp.url !== undefined;
  const settings = {
    version: readVersion(),
    auth,
    limits,
    trustProxy: config.api.trustProxy,
    bodyLimitBytes: config.api.bodyLimitBytes,
    pauses: config.api.pauses,
    temporalUi: temporalUiOf(config),
    links: config.links,
    sendsMail,
  };
  const deps: ApiDeps = {
    pool,
    prisma,
    engine: countStarts(engine, metrics, 'api'),
    schedules,
    jobs: createTemporalJobs(client, startableJobsOf(config), admission),
    pipelines,
    blobs,
    ...buildDomainApi(config),
    hub: loops.hub,
    dispatcher: loops.dispatcher,
    watcher: loops.watcher,
    sweeps: loops.sweeps,
    leaving: stop,
    logger,
    metrics,
    settings,
  };
  const app = await buildApp(deps);
  const metricsApp = config.api.metricsPort === undefined ? undefined : buildMetricsApp(deps);

  async function close(): Promise<void> {
    await Promise.all([app.close(), metricsApp?.close(), loops.stop()]);
    await prisma.$disconnect();
    await pool.end();
    // Last, and then the process ends: a call that waits for its next try throws from its timer on a closed connection.
    await client.connection.close();
  }

  try {
    await listen(app, config.api.host, config.api.port, 'PORT');
    if (metricsApp && config.api.metricsPort) {
      await listen(metricsApp, config.api.host, config.api.metricsPort, 'METRICS_PORT');
    }
    sayReady();
    logger.info({ host: config.api.host, port: config.api.port }, 'api ready');
    if (!stop.aborted) await Promise.race([once(stop, 'abort'), admission.refused]);
    await delay(config.api.drainMs);
  } finally {
    await giveUpAfter(config.shutdownGraceMs, close()).catch((error: unknown) => {
      logger.warn({ err: error }, 'api did not close in time');
    });
  }
}

/** A process that is refused ends before it does anything. Where a server does not answer at once, the process goes on without it, and
 *  calls to Temporal wait for the admission. */
async function awaitFirstAnswer({ admitted }: Admission): Promise<void> {
  await Promise.race([admitted, delay(FIRST_ANSWER_MS, undefined, { ref: false })]);
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
    ...listMissingServers({ database, temporal }),
    ...(keys ? [] : ['JWT_SECRET: expected (or JWT_JWKS_URL), so that tokens can be checked; npm start makes its own']),
  ]);
}

function temporalUiOf({ temporal, installation }: Config): ApiSettings['temporalUi'] {
  return temporal.uiUrl ? { url: temporal.uiUrl, namespace: temporal.namespace, installation } : null;
}

async function listen(app: App, host: string, port: number, variable: string): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    if (!isTaken) throw error;
    const sentence = `cannot start: port ${port} is in use; end what listens there, or set ${variable}`;
    throw new Error(sentence, { cause: error });
  }
}

await runProcess((stop) => runApi(loadConfig(), stop));
