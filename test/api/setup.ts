import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import { SignJWT } from 'jose';
import { type Logger, pino } from 'pino';
import { buildApp } from '../../src/api/app.js';
import type { ApiSettings, App, ApiDeps } from '../../src/api/parts.js';
import type { Role } from '../../src/api/http/auth.js';
import { createPool } from '../../src/db/postgres/client.js';
import { createPrisma } from '../../src/db/postgres/prisma.js';
import { startEventHub } from '../../src/loops/event-hub.js';
import { createOpenBlobStore } from '../../src/start/parts/blob-store.js';
import { buildDomainApi, loadConfig } from '../../src/start/parts/from-domains.js';
import { pipelinesOf } from '../../src/start/parts/pipelines.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { createContract, type OpenApi } from './contract.js';
import { createFakeEngine, type FakeEngine } from './fake-engine.js';
import { createFakeJobs, type FakeJobs } from './fake-jobs.js';
import { createFakeSchedules, type FakeSchedules } from './fake-schedules.js';

export const SECRET = 'a secret of the tests, long enough for HS256';

export interface TestApi {
  app: App;
  database: TestDatabase;
  engine: FakeEngine;
  schedules: FakeSchedules;
  jobs: FakeJobs;
  blobs: ApiDeps['blobs'];
  /** Sends a request and holds its response against the OpenAPI document. */
  call(request: Call): Promise<LightMyRequestResponse>;
  close(): Promise<void>;
}

export interface Call extends Omit<InjectOptions, 'method' | 'url'> {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'OPTIONS' | 'HEAD';
  url: string;
  /** Signs the request in as this caller. */
  as?: Who;
}

export interface Who {
  sub: string;
  roles?: Role[];
  email?: string;
}

export const ALICE: Who = { sub: 'alice', roles: ['user'] };
export const BOB: Who = { sub: 'bob' };
export const REVIEWER: Who = { sub: 'rita', roles: ['reviewer'] };
export const ADMIN: Who = { sub: 'adam', roles: ['admin'] };
export const VIEWER: Who = { sub: 'vera', roles: ['viewer'] };

export interface TestApiOptions {
  limits?: Partial<ApiSettings['limits']>;
  auth?: ApiSettings['auth'];
  /** Where Postgres is said to be; a test's own by default. */
  databaseUrl?: string;
  pipelines?: ApiDeps['pipelines'];
  decisionSaves?: ApiDeps['decisionSaves'];
  /** The routes and event streams of domains; those of every domain by default. */
  domainRoutes?: ApiDeps['domainRoutes'];
  /** A folder of its own by default. */
  blobs?: ApiDeps['blobs'];
  follows?: ApiDeps['follows'];
  metricParts?: ApiDeps['metricParts'];
  dispatcher?: ApiDeps['dispatcher'];
  watcher?: ApiDeps['watcher'];
  sweeps?: ApiDeps['sweeps'];
  leaving?: AbortSignal;
  bodyWithinMs?: number;
  links?: ApiSettings['links'];
  sendsMail?: boolean;
  trustProxy?: ApiSettings['trustProxy'];
  /** Variables of the engine's pipelines and of domains. */
  environment?: Record<string, string>;
  logger?: Logger;
}

/** The API on a database of its own, with an engine that is passed in. */
export async function openApi(options: TestApiOptions = {}): Promise<TestApi> {
  const database = await createTestDatabase();
  const pool = createPool({ url: options.databaseUrl ?? database.url, size: 10, name: 'test api' });
  const prisma = createPrisma(pool);
  const engine = createFakeEngine();
  const schedules = createFakeSchedules();
  const jobs = createFakeJobs();
  const config = loadConfig(options.environment ?? {});
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-test-blobs-'));
  const blobs = options.blobs ?? createOpenBlobStore({ blobs: { kind: 'disk', folder, isNamed: true } });
  const logger = options.logger ?? pino({ level: 'silent' });
  const hub = startEventHub({ pool, logger });
  const app = await buildApp({
    pool,
    prisma,
    engine,
    schedules,
    jobs,
    blobs,
    ...buildDomainApi(config),
    hub,
    pipelines: options.pipelines ?? pipelinesOf(config),
    ...(options.decisionSaves && { decisionSaves: options.decisionSaves }),
    ...(options.domainRoutes && { domainRoutes: options.domainRoutes }),
    ...(options.follows && { follows: options.follows }),
    ...(options.metricParts && { metricParts: options.metricParts }),
    ...(options.dispatcher && { dispatcher: options.dispatcher }),
    ...(options.watcher && { watcher: options.watcher }),
    ...(options.sweeps && { sweeps: options.sweeps }),
    ...(options.leaving && { leaving: options.leaving }),
    logger,
    metrics: createMetrics(),
    settings: {
      version: '7.8.9',
      auth: options.auth ?? { secret: SECRET },
      limits: {
        ...{ rateLimitPerMinute: 100_000, maxEventLoopDelayMs: 0, maxStreams: 100, maxStreamsPerCaller: 20 },
        ...options.limits,
      },
      trustProxy: options.trustProxy ?? null,
      bodyLimitBytes: config.api.bodyLimitBytes,
      pauses: config.api.pauses,
      temporalUi: { url: 'http://127.0.0.1:8233/', namespace: 'default', installation: '' },
      sendsMail: options.sendsMail ?? false,
      links: options.links ?? { secret: SECRET, publicUrl: undefined },
      ...(options.bodyWithinMs !== undefined && { bodyWithinMs: options.bodyWithinMs }),
    },
  });
  await app.ready();
  const contract = createContract(app.swagger() as unknown as OpenApi);

  async function call({ as, method = 'GET', ...request }: Call): Promise<LightMyRequestResponse> {
    const authorization = as && `Bearer ${await tokenOf(as)}`;
    const headers = { ...(authorization && { authorization }), ...request.headers };
    const response = await app.inject({ ...request, method, headers });
    contract(method, request.url.split('?')[0] ?? '', response);
    return response;
  }
  async function close(): Promise<void> {
    await Promise.all([app.close(), hub.stop()]);
    await prisma.$disconnect();
    await pool.end();
    await database.drop();
    rmSync(folder, { recursive: true });
  }
  return { app, database, engine, schedules, jobs, blobs, call, close };
}

export async function tokenOf(who: Who, options: { expires?: string | number; secret?: string } = {}): Promise<string> {
  return new SignJWT({ ...(who.roles && { roles: who.roles }), ...(who.email && { email: who.email }) })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(who.sub)
    .setExpirationTime(options.expires ?? '1h')
    .sign(new TextEncoder().encode(options.secret ?? SECRET));
}

interface Accepted {
  id: string;
  state: string;
  createdAt: string;
  statusUrl: string;
}

export async function submit(api: TestApi, as: Who, payload: object = {}, key?: string): Promise<Accepted> {
  const headers = key === undefined ? {} : { 'idempotency-key': key };
  const response = await api.call({ method: 'POST', url: '/api/v1/canaries', as, payload, headers });
  if (response.statusCode !== 202) throw new Error(response.body);
  return response.json<Accepted>();
}
