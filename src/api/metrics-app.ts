import { fastify, type FastifyBaseLogger, LogController } from 'fastify';
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import type { ApiDeps, App } from './parts.js';
import { addErrorHandler } from './http/errors.js';
import { addMetricsRoute, type MetricsDeps } from './operators/metrics.js';

/** Metrics on a port of their own, which only the scraper reaches: no token is asked for. */
export function buildMetricsApp(deps: Pick<ApiDeps, MetricsDeps | 'logger'>): App {
  const loggerInstance: FastifyBaseLogger = deps.logger;
  const app = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
  }).withTypeProvider<ZodTypeProvider>();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  addErrorHandler(app);
  addMetricsRoute(app, deps, 'open');
  return app;
}
