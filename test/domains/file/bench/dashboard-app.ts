import { SignJWT } from 'jose';
import type pg from 'pg';
import { pino } from 'pino';
import { buildApp } from '../../../../src/api/app.js';
import type { App } from '../../../../src/api/parts.js';
import { createPrisma } from '../../../../src/db/postgres/prisma.js';
import { startEventHub } from '../../../../src/loops/event-hub.js';
import { buildDomainApi, loadConfig } from '../../../../src/start/parts/from-domains.js';
import { pipelinesOf } from '../../../../src/start/parts/pipelines.js';
import { createMetrics } from '../../../../src/telemetry/metrics.js';
import { createFakeEngine } from '../../../api/fake-engine.js';
import { createFakeJobs } from '../../../api/fake-jobs.js';
import { createFakeSchedules } from '../../../api/fake-schedules.js';

const SECRET = 'a secret of the benchmark, long enough for HS256';

export interface BenchApp {
  app: App;
  /** Answers the body; throws unless the status is 200. */
  call(method: 'GET' | 'POST', url: string): Promise<string>;
  close(): Promise<void>;
}

/** The API over the pool, without a network and with an engine that says every run is gone. */
export async function openBenchApp(
  pool: pg.Pool,
  caller: { sub: string; roles: string[] },
  ttlSeconds: number,
): Promise<BenchApp> {
  const logger = pino({ level: 'silent' });
  const prisma = createPrisma(pool);
  const config = loadConfig({ DASHBOARD_CACHE_TTL: String(ttlSeconds) });
  const engine = createFakeEngine();
  engine.status = { is: 'gone', how: 'failed' };
  const hub = startEventHub({ pool, logger });
  const app = await buildApp({
    ...{ pool, prisma, engine, hub, logger, schedules: createFakeSchedules(), jobs: createFakeJobs() },
    blobs: () => Promise.reject(new Error('no figure needs a blob')),
    embedder: () => Promise.reject(new Error('no figure needs a vector')),
    ...buildDomainApi(config),
    pipelines: pipelinesOf(config),
    metrics: createMetrics(),
    settings: {
      ...{ version: '0', auth: { secret: SECRET }, trustProxy: null, temporalUi: null, sendsMail: false },
      limits: { rateLimitPerMinute: 1_000_000, maxEventLoopDelayMs: 0, maxStreams: 10, maxStreamsPerCaller: 10 },
      bodyLimitBytes: config.api.bodyLimitBytes,
      pauses: config.api.pauses,
      links: { secret: SECRET, publicUrl: undefined },
    },
  });
  await app.ready();
  const token = await new SignJWT({ roles: caller.roles })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(caller.sub)
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(SECRET));
  return {
    app,
    async call(method, url) {
      const response = await app.inject({ method, url, headers: { authorization: `Bearer ${token}` } });
      if (response.statusCode !== 200) throw new Error(`${method} ${url}: ${response.statusCode} ${response.body}`);
      return response.body;
    },
    async close() {
      await Promise.all([app.close(), hub.stop()]);
      await prisma.$disconnect();
    },
  };
}
