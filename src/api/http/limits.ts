import { fastifyHelmet } from '@fastify/helmet';
import { fastifyRateLimit } from '@fastify/rate-limit';
import { fastifyUnderPressure } from '@fastify/under-pressure';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../core/errors.js';
import type { App } from '../parts.js';
import type { StreamLimits } from './open-streams.js';

export interface ApiLimits extends StreamLimits {
  rateLimitPerMinute: number;
  /** Requests are shed when the event loop is later than this on average. */
  maxEventLoopDelayMs: number;
}

/** The event loop is looked at this often at most, so a burst is shed about as soon as it is felt. */
const MIN_SAMPLE_MS = 250;

/** Answers of the API are data: a browser must neither run nor frame them. The pages set their own headers. */
const SECURITY_HEADERS = {
  contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
};

export async function addSecurityHeaders(app: App): Promise<void> {
  await app.register(fastifyHelmet, SECURITY_HEADERS);
}

/** Sheds load while the process is late. Health stays reachable, or a busy process would be taken for a dead process. */
export async function addShedding(app: App, { maxEventLoopDelayMs }: ApiLimits): Promise<void> {
  await app.register(fastifyUnderPressure, {
    maxEventLoopDelay: maxEventLoopDelayMs,
    // The plugin takes an interval in which the loop did not turn for an endless delay. An interval below the limit would
    // shed requests after a pause that the limit allows, as every start on a busy machine has.
    sampleInterval: Math.max(MIN_SAMPLE_MS, maxEventLoopDelayMs),
    pressureHandler: (request) => {
      if (request.routeOptions.config.isHealth) return;
      throw new AppError('overloaded', 'the server has more to do than it can; try again in a moment');
    },
  });
}

/** The limit holds for each caller, or for each address where no caller is known. Each API process counts for itself.
 *  The hook is added after the hook that finds the caller. */
export async function addRateLimit(app: App, { rateLimitPerMinute }: ApiLimits): Promise<void> {
  await app.register(fastifyRateLimit, {
    global: false,
    max: rateLimitPerMinute,
    timeWindow: '1 minute',
    enableDraftSpec: true,
    allowList: ({ routeOptions: { config } }) => config.isHealth === true || config.isUncounted === true,
    keyGenerator: (request) => `${request.routeOptions.config.countedAs ?? ''}${whoAsks(request)}`,
    errorResponseBuilder: (_request, { after, max }) =>
      new AppError('rate_limited', `more than ${max} requests in a minute; try again in ${after}`),
  });
  app.addHook('onRequest', app.rateLimit());
}

function whoAsks({ caller, ip }: FastifyRequest): string {
  return caller ? `caller ${caller.sub}` : `address ${ip}`;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Not limited, because each request needs a permission of its own that another, limited request has given. */
    isUncounted?: boolean;
    /** Requests of routes with this name have a limit of their own, as high as that of all others together. */
    countedAs?: string;
    /** Neither shed nor limited. */
    isHealth?: boolean;
  }
}
