import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../core/errors.js';
import type { App } from '../parts.js';

/** A body must have arrived completely within this time. No body that a route reads as a whole takes nearly as long. */
const BODY_WITHIN_MS = 30_000;

/** A route that passes its body on as it comes has this long for it. A slow line of 250 kbit/s brings 100 MB in an hour. */
export const STREAMED_BODY_WITHIN_MS = 3_600_000;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route passes its body on as it comes, and watches it by itself (`watchBody`). */
    streamsBody?: boolean;
  }
}

/** Refuses a body that does not come to its end in time. Node's own timeout can't do it, because it is the same for all routes, and
 *  some may receive for long. A caller who sends a byte now and then would hold the connection until then. */
export function addBodyDeadline(app: App, withinMs = BODY_WITHIN_MS): void {
  app.addHook('onRequest', async (request, reply) => {
    const { raw } = request;
    if (request.routeOptions.config.streamsBody || !hasBody(raw)) return;
    const timer = setTimeout(() => {
      refuse(request, reply);
    }, withinMs);
    timer.unref();
    const stop = (): void => {
      clearTimeout(timer);
    };
    raw.once('end', stop).once('close', stop);
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function refuse({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (raw.complete) return;
  if (reply.sent) {
    raw.destroy();
    return;
  }
  // The connection is closed behind the answer, because the rest of the body may still come.
  void reply.header('Connection', 'close');
  const late = new AppError('request_timeout', 'the body of the request did not arrive in time');
  // A parser that waits for the body answers by itself. Destroying the body would take the connection with it.
  if (raw.listenerCount('error') > 0) raw.emit('error', late);
  else void reply.send(late);
}
