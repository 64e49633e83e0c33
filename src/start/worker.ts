import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Client } from '@temporalio/client';
import { NativeConnection, type Worker } from '@temporalio/worker';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Isolation } from '../activities/isolation.js';
import { createPatientReads } from '../activities/patient-reads.js';
import { createActivities } from '../activities/stage-runner.js';
import { watchSleep } from '../activities/watch-sleep.js';
import { type Config, ConfigError, readVersion } from '../config.js';
import { createStages, listWorkedPipelines, loadConfig } from './parts/from-domains.js';
import { createPool } from '../db/postgres/client.js';
import { holdPresence } from '../db/recovery/hold-presence.js';
import { seeWorker } from '../db/recovery/workers.js';
import { createLogger } from '../telemetry/logger.js';
import { connectionOptionsOf, createTemporalClient } from '../temporal/connection.js';
import type { OpenBlobStore } from '../ports/blob-store.js';
import type { WorkerMembership } from '../temporal/refuse-foreign-tasks.js';
import { createItemWorker } from '../temporal/worker.js';
import { createIsolation } from './parts/isolation.js';
import { jobsWorkerOf } from './parts/jobs.js';
import { maintenanceWorkerOf } from './parts/maintenance.js';
import { listMissingServers } from './parts/missing-servers.js';
import { assertOwnDatabase, assertOwnNames, watchNames } from './parts/admission.js';
import { createOpenBlobStore } from './parts/blob-store.js';
import { createEngine } from './parts/engine.js';
import { WORKFLOW_BUNDLE } from './parts/keep-working.js';
import { installationOf } from './embedded/installation.js';
import { pipelinesOf } from './parts/pipelines.js';
import { RefusedError } from './parts/refused-error.js';
import { runProcess, sayReady } from './parts/run-process.js';
import { scheduleRowsOf } from './parts/schedule-rows.js';
import { takeOverLogsAndSignals } from './parts/temporal-runtime.js';

/** How often the registry is told that this process is there. */
const SEEN_EVERY_MS = 5_000;

/** Between tries at a server that is away when the worker starts. */
const RETRY_MS = 1_000;

interface Asked {
  /** The pipelines whose items it walks. */
  wanted: readonly string[];
  /** Whether the worker sweeps and cleans up too, as every API process does. */
  maintains: boolean;
}

/** Works until `stop` is aborted, then lets attempts in flight end. Waits for servers that are not there yet. */
async function runWorker(config: Config, { wanted, maintains }: Asked, stop: AbortSignal): Promise<void> {
  const { databaseUrl, directUrl, address } = neededOf(config);
  const name = config.worker.name ?? 'worker';
  const id = `${name}@${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
  const logger = createLogger({ level: config.logLevel, name });
  takeOverLogsAndSignals(logger);

  const pool = createPool({ url: databaseUrl, size: config.database.poolSize, name });
  const client = createTemporalClient({ ...config.temporal, address });
  const asked = { config, sql: pool, client, rows: scheduleRowsOf(config) };
  const installation = await untilAnswered(logger, 'Postgres', stop, () => assertOwnDatabase(pool, config));
  const self = { id, name, host: hostname(), pid: process.pid, build: readVersion(), pipelines: [...wanted] };
  const presence = await untilAnswered(logger, 'Postgres', stop, () =>
    holdPresence({
      url: directUrl,
      pool,
      worker: self,
      onLost: (why) => {
        logger.warn({ err: why }, 'worker lost the lock that says it lives; taking it again');
      },
      onHeld: () => {
        logger.info('worker registered again');
      },
    }),
  );
  const signOff = (): Promise<void> =>
    presence.retire().catch((error: unknown) => {
      logger.warn({ err: error }, 'worker could not sign off');
    });
  const connection = await untilAnswered(logger, 'Temporal', stop, async () => {
    await assertOwnNames(asked, installation);
    return NativeConnection.connect(connectionOptionsOf({ ...config.temporal, address }));
  }).catch(async (error: unknown) => {
    await signOff();
    throw error;
  });
  const names = watchNames(asked, installation, () => {
    workers.forEach(shutDown);
  });
  const membership = { name: config.installation, id: installation, onForeign: names.lookAgain };
  const parts = {
    pool,
    connection,
    logger,
    id,
    membership,
    isolation: createIsolation(config, databaseUrl),
    blobs: createOpenBlobStore(config),
  };
  const workers = await createWorkers(config, wanted, parts);
  if (maintains) workers.push(...(await createMaintenance(config, client, parts)));
  const seen = setInterval(() => {
    seeWorker(pool, id).catch((error: unknown) => {
      logger.warn({ err: error }, 'worker could not say that it is there');
    });
  }, SEEN_EVERY_MS);
  stop.addEventListener('abort', () => {
    workers.forEach(shutDown);
  });
  const running = workers.map((worker) => worker.run());
  if (stop.aborted) workers.forEach(shutDown);
  sayReady();
  logger.info({ worker: id, pipelines: wanted }, 'worker ready');
  try {
    await Promise.all(running);
    names.throwIfRefused();
  } finally {
    clearInterval(seen);
    await signOff();
    await Promise.all([connection.close(), client.connection.close()]);
    await pool.end();
  }
}

interface Servers {
  databaseUrl: string;
  directUrl: string;
  address: string;
}

function neededOf(config: Config): Servers {
  const { database, temporal } = config;
  const { url, directUrl } = database;
  if (url && directUrl && temporal.address) return { databaseUrl: url, directUrl, address: temporal.address };
  const here = url || temporal.address ? undefined : embeddedHere(config);
  if (here) return here;
  throw new ConfigError(listMissingServers(config));
}

/** The servers that `npm start` runs in this folder, for one more worker. */
function embeddedHere(config: Config): Servers | undefined {
  const { databaseUrl, temporal } = installationOf(config);
  return databaseUrl === undefined ? undefined : { databaseUrl, directUrl: databaseUrl, address: temporal.address };
}

interface Parts {
  pool: pg.Pool;
  connection: NativeConnection;
  logger: Logger;
  id: string;
  membership: WorkerMembership;
  isolation: Isolation;
  blobs: OpenBlobStore;
}

async function createWorkers(config: Config, wanted: readonly string[], parts: Parts): Promise<Worker[]> {
  const { pool, connection, logger, id, membership, isolation, blobs } = parts;
  const tables = Object.values(pipelinesOf(config)).filter((each) => wanted.includes(each.name));
  const stages = await createStages(config, { reads: createPatientReads(pool), blobs }, wanted);
  const sleptMs = watchSleep();
  return Promise.all(
    tables.map((pipeline) =>
      createItemWorker({
        connection,
        namespace: config.temporal.namespace,
        pipeline: pipeline.name,
        identity: id,
        workflowBundle: WORKFLOW_BUNDLE,
        activities: createActivities({
          pool,
          pipeline,
          stages: stages[pipeline.name] ?? {},
          worker: id,
          isolation,
          sleptMs,
          logger,
        }),
        maxActivities: config.worker.maxActivities,
        shutdownGraceMs: config.shutdownGraceMs,
        membership,
      }),
    ),
  );
}

function createMaintenance(config: Config, client: Client, parts: Parts): Promise<Worker[]> {
  const { pool, connection, logger, id, membership, blobs } = parts;
  const pipelines = pipelinesOf(config);
  const { name, id: installation } = membership;
  const engine = createEngine(client, pipelines, { name, id: () => installation });
  const admission = { name, admitted: Promise.resolve(installation) };
  const working = { config, pool, engine, pipelines, blobs, identity: id, logger, admission };
  return Promise.all([maintenanceWorkerOf(working, connection), jobsWorkerOf(working, connection)]);
}

function shutDown(worker: Worker): void {
  if (worker.getState() === 'RUNNING') worker.shutdown();
}

async function untilAnswered<T>(logger: Logger, part: string, stop: AbortSignal, call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      stop.throwIfAborted();
      if (error instanceof RefusedError) throw error;
      logger.warn({ err: error }, `${part} does not answer; trying again`);
      await delay(RETRY_MS, undefined, { signal: stop });
    }
  }
}

async function main(stop: AbortSignal): Promise<void> {
  const { values } = parseArgs({ options: { pipelines: { type: 'string' }, maintenance: { type: 'boolean' } } });
  const there = listWorkedPipelines();
  const wanted = values.pipelines?.split(',').filter(Boolean) ?? there;
  const unknown = wanted.filter((each) => !there.includes(each));
  if (unknown.length > 0) {
    throw new Error(`cannot start: no pipeline ${unknown.join(', ')}; there are ${there.join(', ')}`);
  }
  await runWorker(loadConfig(), { wanted, maintains: values.maintenance ?? false }, stop);
}

await runProcess(main);
