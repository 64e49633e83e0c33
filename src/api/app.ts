import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { fastify, type FastifyBaseLogger, type FastifyInstance, LogController, type RawServerDefault } from 'fastify';
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Pipeline } from '../core/pipeline.js';
import type { AddressRules } from '../domains/submission/core/address/skill-address.js';
import type { Prisma } from '../db/postgres/prisma.js';
import type { AnyDecisionSaves } from '../ports/decision.js';
import type { Engine } from '../ports/engine.js';
import type { Schedules } from '../ports/schedules.js';
import type { Metrics } from '../telemetry/metrics.js';
import { authorizeCaller, identifyCaller } from './http/access.js';
import { type AuthSettings, createIdentify } from './http/auth.js';
import { answerClientError } from './http/client-error.js';
import { createEngineHealth } from './items/engine-health.js';
import { addErrorHandler, sendProblem } from './http/errors.js';
import { addGracefulClose } from './http/graceful-close.js';
import { addRateLimit, addSecurityHeaders, addShedding, type Limits } from './http/limits.js';
import { addNotFoundHandler } from './http/not-found.js';
import { addOpenApi, addReference } from './http/openapi.js';
import { addBreakerRoutes } from './operators/breakers.js';
import { addCanaryRoutes } from '../domains/canary/api/canaries.js';
import { addEventRoutes } from './items/events.js';
import { addHealthRoutes } from './operators/health.js';
import { addHourlyMetricsRoute } from './operators/hourly-metrics.js';
import { addItemActionRoutes } from './items/item-actions.js';
import { addItemListRoute } from './items/item-list.js';
import { addItemRoutes } from './items/items.js';
import { addMetricsRoute } from './operators/metrics.js';
import { addNotificationRoutes } from './operators/notifications.js';
import { addPipelineRoutes } from './operators/pipelines.js';
import { addReceiptRoutes } from './operators/receipts.js';
import { addRegistryRoutes } from '../domains/submission/api/registry.js';
import { addScheduleRoutes } from './operators/schedules.js';
import { addStatusRoute } from '../domains/submission/api/status.js';
import { addSubmissionBulkRoute } from '../domains/submission/api/submission-bulk.js';
import { addSubmissionListRoute } from '../domains/submission/api/submission-list.js';
import { addSubmissionPositionsRoute } from '../domains/submission/api/submission-positions.js';
import { addSubmissionQueueRoutes } from './operators/queue-status.js';
import { addSubmissionReviewRoutes } from '../domains/submission/api/submission-review.js';
import { addSubmissionSlaRoute } from '../domains/submission/api/submission-sla.js';
import { addSubmissionStatsRoute } from '../domains/submission/api/submission-stats.js';
import { addSubmissionRoutes } from '../domains/submission/api/submissions.js';
import { addWorkerRoutes } from './operators/workers.js';
import type { StatusLinks } from './items/status-links.js';
import type { SweepWatch } from '../loops/sweep-watch.js';

export interface ApiSettings {
  auth: AuthSettings;
  limits: Limits;
  bodyLimitBytes: number;
  /** The Temporal Web UI and the namespace that runs are in; null: no links. */
  temporalUi: { url: string; namespace: string } | null;
  /** Whether a verdict is sent to the address that came with a submission. */
  sendsMail: boolean;
  /** Where skills may be submitted from, whose are taken on trust, and how many one caller may have on their way. */
  submission: { address: AddressRules; vendors: readonly string[]; maxLivePerOwner: number };
}

export interface ApiDeps {
  pool: pg.Pool;
  prisma: Prisma;
  engine: Engine;
  schedules: Schedules;
  pipelines: Readonly<Record<string, Pipeline>>;
  /** What decisions bring about besides their moves, by pipeline. */
  decisionSaves: Readonly<Record<string, AnyDecisionSaves>>;
  links: StatusLinks;
  /** When the dispatcher of this process last looked for work; without one, health says unknown. */
  dispatcher?: { lastTurnAt(): Date | null };
  /** The same of the watcher and dead workers. */
  watcher?: { lastTurnAt(): Date | null };
  /** Knows which sweeps are late; without one, health says unknown. */
  sweeps?: Pick<SweepWatch, 'late'>;
  /** Aborted when this process is to stop; it may serve for a while after that. */
  leaving?: AbortSignal;
  logger: Logger;
  metrics: Metrics;
  settings: ApiSettings;
}

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** A skill's name with its owner behind it; ids are shorter. */
const MAX_PARAM_LENGTH = 200;

/** A request must have arrived after this long; no body of ours takes nearly as long. */
const REQUEST_TIMEOUT_MS = 30_000;

/** Longer than every statement that a handler waits for; past it something hangs. */
const HANDLER_TIMEOUT_MS = 60_000;

/** A connection that says nothing for this long is closed. */
const CONNECTION_TIMEOUT_MS = 120_000;

/** Clients that name JSON in every request send no body with a DELETE: where a route takes none, that is none. */
function allowEmptyJson(app: App): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body: string, done) => {
    if (body === '' && request.routeOptions.schema?.body === undefined) done(null, undefined);
    else void parse(request, body, done);
  });
}

/** Builds the whole API; listening is up to the caller. */
export async function buildApp(deps: ApiDeps): Promise<App> {
  const { settings, metrics } = deps;
  const loggerInstance: FastifyBaseLogger = deps.logger;
  const app = fastify({
    loggerInstance,
    // One line for each answer, by ourselves.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestIdOf,
    bodyLimit: settings.bodyLimitBytes,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    requestTimeout: REQUEST_TIMEOUT_MS,
    handlerTimeout: HANDLER_TIMEOUT_MS,
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    // While closing, what still comes in on open connections is answered and the connection then closed.
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => void sendProblem(error, request, reply),
    clientErrorHandler: answerClientError,
  }).withTypeProvider<ZodTypeProvider>();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  // JSON is all there is: what is sent as text is refused, not taken for a string.
  app.removeContentTypeParser('text/plain');
  allowEmptyJson(app);
  addErrorHandler(app);
  addNotFoundHandler(app);

  app.decorateRequest('caller', null);
  app.decorateRequest('refusal', null);
  addGracefulClose(app, deps.leaving);
  addObservation(app, metrics);
  // The order of these is the order of their hooks.
  await addSecurityHeaders(app);
  await addShedding(app, settings.limits);
  app.addHook('onRequest', identifyCaller(createIdentify(settings.auth)));
  await addRateLimit(app, settings.limits);
  app.addHook('onRequest', authorizeCaller);
  // No body is an empty one, so that validation names the fields that are missing.
  app.addHook('preValidation', async (request) => {
    if (request.routeOptions.schema?.body !== undefined && request.body === undefined) request.body = {};
  });

  await addOpenApi(app);
  const engineHealth = createEngineHealth(deps.engine);
  addHealthRoutes(app, { ...deps, engineHealth });
  addMetricsRoute(app, deps);
  addBreakerRoutes(app, deps);
  addHourlyMetricsRoute(app, deps);
  addCanaryRoutes(app, deps);
  const reader = { ...deps, engineHealth, temporalUi: settings.temporalUi };
  addItemListRoute(app, reader);
  addItemRoutes(app, reader);
  addItemActionRoutes(app, reader);
  const submitting = { ...reader, submission: settings.submission, sendsMail: settings.sendsMail };
  addSubmissionRoutes(app, submitting);
  addSubmissionBulkRoute(app, submitting);
  addSubmissionReviewRoutes(app, reader);
  addEventRoutes(app, { ...reader, logger: deps.logger, limits: settings.limits });
  addPipelineRoutes(app, deps);
  addReceiptRoutes(app, deps);
  addWorkerRoutes(app, deps);
  addNotificationRoutes(app, deps);
  addScheduleRoutes(app, deps);
  addRegistryRoutes(app, deps);
  addStatusRoute(app, { ...reader, links: deps.links });
  addSubmissionListRoute(app, deps);
  addSubmissionPositionsRoute(app, deps);
  addSubmissionStatsRoute(app, deps);
  addSubmissionQueueRoutes(app, { ...deps, engineHealth });
  addSubmissionSlaRoute(app, deps);
  await addReference(app);
  return app;
}

/** An id that a caller or a proxy gave is kept if it can stand in a log line. */
function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,64}$/.test(given) ? given : randomUUID();
}

function addObservation(app: App, metrics: Metrics): void {
  app.addHook('onRequest', async (request, reply) => {
    void reply.header('X-Request-Id', request.id);
  });
  app.addHook('onResponse', async (request, reply) => {
    const { method } = request;
    const route = request.routeOptions.url ?? 'none';
    const status = reply.statusCode;
    const { isStream } = request.routeOptions.config;
    if (!isStream) metrics.httpDuration.observe({ method, route, status }, reply.elapsedTime / 1_000);
    const level = method === 'GET' || method === 'HEAD' ? 'debug' : 'info';
    const facts = { method, route, status, ms: Math.round(reply.elapsedTime), caller: request.caller?.sub };
    request.log[level](facts, 'request answered');
  });
}
