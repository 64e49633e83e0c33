import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { DefaultLogger, NativeConnection, Runtime, type Worker } from '@temporalio/worker';
import type pg from 'pg';
import type { Logger } from 'pino';
import { createActivities } from '../activities/stage-runner.js';
import { type Config, ConfigError, loadConfig, projectRoot, version } from '../config.js';
import { createPool } from '../db/client.js';
import { holdPresence } from '../db/presence.js';
import { seeWorker } from '../db/workers.js';
import { createLogger } from '../telemetry/logger.js';
import { connectionOptionsOf } from '../temporal/connection.js';
import { createItemWorker } from '../temporal/worker.js';
import { pipelinesOf } from './pipelines.js';
import { runProcess } from './run-process.js';
import { STAGES } from './stages.js';

/** How often the registry is told that this process is there. */
const SEEN_EVERY_MS = 5_000;

/** Between tries at a server that is away when the worker starts. */
const RETRY_MS = 1_000;

/** Works until `stop` is aborted, then lets what is in flight end. Waits for servers that are not there yet. */
async function runWorker(config: Config, wanted: readonly string[], stop: AbortSignal): Promise<void> {
  const { databaseUrl, directUrl, address } = neededOf(config);
  const name = config.worker.name ?? 'worker';
  const id = `${name}@${hostname()}:${String(process.pid)}:${randomUUID().slice(0, 8)}`;
  const logger = createLogger({ level: config.logLevel, name });
  takeOverLogsAndSignals(logger);

  const pool = createPool({ url: databaseUrl, size: config.database.poolSize, name });
  const self = { id, name, host: hostname(), pid: process.pid, build: version(), pipelines: [...wanted] };
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
  const connection = await untilAnswered(logger, 'Temporal', stop, () =>
    NativeConnection.connect(connectionOptionsOf({ ...config.temporal, address })),
  );
  const workers = await createWorkers(config, wanted, { pool, connection, logger, id });
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
  process.send?.({ ready: true });
  logger.info({ worker: id, pipelines: wanted }, 'worker ready');
  try {
    await Promise.all(running);
  } finally {
    clearInterval(seen);
    await presence.retire().catch((error: unknown) => {
      logger.warn({ err: error }, 'worker could not sign off');
    });
    await connection.close();
    await pool.end();
  }
}

function neededOf({ database, temporal }: Config): { databaseUrl: string; directUrl: string; address: string } {
  const { url, directUrl } = database;
  if (url && directUrl && temporal.address) return { databaseUrl: url, directUrl, address: temporal.address };
  throw new ConfigError([
    ...(database.url ? [] : ['DATABASE_URL: expected where Postgres is; npm start brings its own']),
    ...(temporal.address ? [] : ['TEMPORAL_ADDRESS: expected where Temporal is; npm start brings its own']),
  ]);
}

interface Parts {
  pool: pg.Pool;
  connection: NativeConnection;
  logger: Logger;
  id: string;
}

async function createWorkers(config: Config, wanted: readonly string[], parts: Parts): Promise<Worker[]> {
  const { pool, connection, logger, id } = parts;
  const tables = Object.values(pipelinesOf(config)).filter((each) => wanted.includes(each.name));
  return Promise.all(
    tables.map((pipeline) => {
      const stages = STAGES[pipeline.name]?.(pool) ?? {};
      return createItemWorker({
        connection,
        namespace: config.temporal.namespace,
        pipeline: pipeline.name,
        identity: id,
        workflowBundle: { codePath: join(projectRoot, 'dist', 'workflow-bundle.js') },
        activities: createActivities({ pool, pipeline, stages, worker: id, logger }),
        maxActivities: config.worker.maxActivities,
        shutdownGraceMs: config.shutdownGraceMs,
      });
    }),
  );
}

function shutDown(worker: Worker): void {
  if (worker.getState() === 'RUNNING') worker.shutdown();
}

/** The SDK would install handlers of its own and end the process under us. */
function takeOverLogsAndSignals(logger: Logger): void {
  Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
      logger[level === 'ERROR' ? 'error' : 'warn']({ meta }, message);
    }),
  });
}

async function untilAnswered<T>(logger: Logger, part: string, stop: AbortSignal, call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      stop.throwIfAborted();
      logger.warn({ err: error }, `${part} does not answer; trying again`);
      await delay(RETRY_MS, undefined, { signal: stop });
    }
  }
}

async function main(stop: AbortSignal): Promise<void> {
  const { values } = parseArgs({ options: { pipelines: { type: 'string' } } });
  const wanted = values.pipelines?.split(',').filter(Boolean) ?? Object.keys(STAGES);
  const unknown = wanted.filter((each) => !(each in STAGES));
  if (unknown.length > 0) {
    throw new Error(`cannot start: no pipeline ${unknown.join(', ')}; there are ${Object.keys(STAGES).join(', ')}`);
  }
  await runWorker(loadConfig(), wanted, stop);
}

await runProcess(main);
