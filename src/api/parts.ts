import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { LateSweep } from '../core/late-sweeps.js';
import type { Pipeline } from '../core/pipeline.js';
import type { Prisma } from '../db/postgres/prisma.js';
import type { OpenBlobStore } from '../ports/blob-store.js';
import type { AnyDecisionSaves } from '../ports/decision.js';
import type { Engine } from '../ports/engine.js';
import type { OpenEmbedder } from '../ports/embedder.js';
import type { EventHub } from '../ports/event-hub.js';
import type { Jobs } from '../ports/jobs.js';
import type { MetricPart } from '../ports/metric.js';
import type { Schedules } from '../ports/schedules.js';
import type { Metrics } from '../telemetry/metrics.js';
import type { AuthSettings, Caller } from './http/auth.js';
import type { ApiLimits } from './http/limits.js';
import type { EngineHealth } from './items/engine-health.js';
import type { LinkSettings } from './items/status-links.js';
import type { PauseLimits } from './operators/pause-answer.js';

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

export interface ApiSettings {
  /** Of this program; the OpenAPI document names it. */
  version: string;
  auth: AuthSettings;
  limits: ApiLimits;
  /** The proxies whose word for a caller's address is taken: how many, or which; null: none. */
  trustProxy: number | string[] | null;
  bodyLimitBytes: number;
  /** How long a body may take to arrive. Without it, what suits every installation. Tests have less patience. */
  bodyWithinMs?: number;
  pauses: PauseLimits;
  /** The Temporal Web UI, and the namespace and the installation's name that runs have; null: no links. */
  temporalUi: { url: string; namespace: string; installation: string } | null;
  /** The secret that signs status links, and the address that they lead to. */
  links: LinkSettings;
  /** Whether mail can be sent to an address that came with an item. */
  sendsMail: boolean;
}

/** An event stream under a domain's own path, beside `/api/v1/items/{id}/events`. */
export interface FollowPart {
  /** The path's part behind the version of the API. */
  kind: string;
  /** v1 by default. */
  version?: 'v1' | 'v2';
  pipeline: string;
  summary: string;
  /** The item as the domain's own answer shows it. Without it, as `GET /api/v1/items/{id}` does. */
  snapshotFor?(parts: ApiParts, caller: Caller, id: string): Promise<ItemSnapshot>;
}

/** The first event of an item's stream. A domain's own snapshot has more fields. */
export interface ItemSnapshot {
  id: string;
  version: number;
}

/** The dependencies that `start` passes to the API. */
export interface ApiDeps {
  pool: pg.Pool;
  prisma: Prisma;
  engine: Engine;
  schedules: Schedules;
  /** Starts jobs by hand, for the routes of domains. */
  jobs: Jobs;
  /** Large contents, for the routes of domains. */
  blobs: OpenBlobStore;
  pipelines: Readonly<Record<string, Pipeline>>;
  /** The effects of decisions besides their moves, by pipeline. */
  decisionSaves: Readonly<Record<string, AnyDecisionSaves>>;
  /** The routes of the domains, in the order of their registry. */
  domainRoutes: readonly ((app: App, parts: ApiParts) => Promise<void> | void)[];
  follows: readonly FollowPart[];
  /** Sentences about the domains' settings that operators should know. Health shows them. */
  remarks: readonly string[];
  /** The task queues that belong to no pipeline: the queue of sweeps, the queue of jobs, and the queues that single jobs name. */
  engineQueues: readonly string[];
  /** The metrics of domains. */
  metricParts: readonly MetricPart[];
  hub: EventHub;
  /** Turns texts into vectors, for the routes of domains. */
  embedder: OpenEmbedder;
  /** When the dispatcher of this process last looked for work; without one, health says unknown. */
  dispatcher?: { lastTurnAt(): Date | null; slowestDuty?(): string };
  /** The same of the watcher and dead workers. */
  watcher?: { lastTurnAt(): Date | null };
  /** Knows which sweeps are late; without one, health says unknown. */
  sweeps?: { late(): Promise<LateSweep[]> };
  /** Aborted when this process is asked to stop. The process may serve for a while after that. */
  leaving?: AbortSignal;
  logger: Logger;
  metrics: Metrics;
  settings: ApiSettings;
}

/** The dependencies of routes. */
export interface ApiParts extends ApiDeps {
  engineHealth: EngineHealth;
  temporalUi: ApiSettings['temporalUi'];
}
