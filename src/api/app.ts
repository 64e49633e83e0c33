import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { fastify, type FastifyBaseLogger, LogController } from 'fastify';
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Metrics } from '../telemetry/metrics.js';
import { authorizeCaller, identifyCaller } from './http/access.js';
import { createIdentify } from './http/auth.js';
import { addBodyDeadline, STREAMED_BODY_WITHIN_MS } from './http/body-deadline.js';
import { answerClientError } from './http/client-error.js';
import { addErrorHandler, sendProblem } from './http/errors.js';
import { addGracefulClose } from './http/graceful-close.js';
import { addRateLimit, addSecurityHeaders, addShedding } from './http/limits.js';
import { addNotFoundHandler } from './http/not-found.js';
import { addOpenApi, addReference } from './http/openapi.js';
import { createEngineHealth } from './items/engine-health.js';
import { addEventRoutes } from './items/events.js';
import { addItemActionRoutes } from './items/item-actions.js';
import { addItemListRoute } from './items/item-list.js';
import { addItemRoutes } from './items/items.js';
import { addBreakerRoutes } from './operators/breakers.js';
import { addHealthRoutes } from './operators/health.js';
import { addHourlyMetricsRoute } from './operators/hourly-metrics.js';
import { addMetricsRoute } from './operators/metrics.js';
import { addNotificationRoutes } from './operators/notifications.js';
import { addOperatorActionRoute } from './operators/operator-actions.js';
import { addPipelineRoutes } from './operators/pipelines.js';
import { addReceiptRoutes } from './operators/receipts.js';
import { addScheduleRoutes } from './operators/schedules.js';
import { addStuckRoute } from './operators/stuck.js';
import { addWorkerRoutes } from './operators/workers.js';
import type { ApiDeps, ApiParts, ApiSettings, App } from './parts.js';

/** Room for a name of up to a hundred characters, percent-encoded, with its owner's name. Ids are shorter. */
const MAX_PARAM_LENGTH = 200;

/** The head of a request must have arrived within this time. Each route then has a deadline for the body. */
const HEADERS_TIMEOUT_MS = 30_000;

/** Longer than every statement that a handler waits for. A handler that takes longer hangs. */
const HANDLER_TIMEOUT_MS = 60_000;

/** A connection that says nothing for this long is closed. */
const CONNECTION_TIMEOUT_MS = 120_000;

/** Some clients name JSON in every request, and send no body with a DELETE. On a route that takes no body, an empty
 *  body counts as none. */
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
    // Our own hook logs one line for each answer.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestIdOf,
    bodyLimit: settings.bodyLimitBytes,
    trustProxy: trustOf(settings.trustProxy),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    http: { headersTimeout: HEADERS_TIMEOUT_MS },
    // Only routes that pass their body on as it comes may take so long; `addBodyDeadline` ends all others.
    requestTimeout: STREAMED_BODY_WITHIN_MS,
    handlerTimeout: HANDLER_TIMEOUT_MS,
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    // While the server closes, requests on open connections are still answered. Each connection is then closed.
    return503OnClosing: false,
    // No hook runs for a request that has no route, so its body has no deadline, and the connection is closed.
    frameworkErrors: (error, request, reply) => void sendProblem(error, request, reply.header('Connection', 'close')),
    clientErrorHandler: answerClientError,
  }).withTypeProvider<ZodTypeProvider>();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  // The API takes JSON alone. A body that is sent as text is refused, and not taken for a string.
  app.removeContentTypeParser('text/plain');
  allowEmptyJson(app);
  addErrorHandler(app);
  addNotFoundHandler(app);

  app.decorateRequest('caller', null);
  app.decorateRequest('refusal', null);
  addGracefulClose(app, deps.leaving);
  addObservation(app, metrics);
  addBodyDeadline(app, settings.bodyWithinMs);
  // The order of these calls is the order of their hooks.
  await addSecurityHeaders(app);
  await addShedding(app, settings.limits);
  app.addHook('onRequest', identifyCaller(createIdentify(settings.auth)));
  await addRateLimit(app, settings.limits);
  app.addHook('onRequest', authorizeCaller);
  // A missing body counts as an empty body, so that validation names the missing fields.
  app.addHook('preValidation', async (request) => {
    if (request.routeOptions.schema?.body !== undefined && request.body === undefined) request.body = {};
  });

  await addOpenApi(app, settings.version);
  const parts: ApiParts = { ...deps, engineHealth: createEngineHealth(deps.engine), temporalUi: settings.temporalUi };
  addHealthRoutes(app, parts);
  addMetricsRoute(app, parts);
  addBreakerRoutes(app, parts);
  addHourlyMetricsRoute(app, parts);
  addItemListRoute(app, parts);
  addItemRoutes(app, parts);
  addItemActionRoutes(app, parts);
  addEventRoutes(app, parts);
  addPipelineRoutes(app, parts);
  addReceiptRoutes(app, parts);
  addStuckRoute(app, parts);
  addWorkerRoutes(app, parts);
  addNotificationRoutes(app, parts);
  addOperatorActionRoute(app, parts);
  addScheduleRoutes(app, parts);
  for (const addRoutes of deps.domainRoutes) await addRoutes(app, parts);
  await addReference(app);
  return app;
}

/** Proxies are counted from this process outwards: hop 0 is the address that opened the connection. */
function trustOf(proxies: ApiSettings['trustProxy']): string[] | false | ((address: string, hop: number) => boolean) {
  return typeof proxies === 'number' ? (_address, hop) => hop < proxies : (proxies ?? false);
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
