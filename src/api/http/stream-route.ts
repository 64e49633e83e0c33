import { type EventStream, STREAM_LIMIT_MS } from './open-streams.js';

export const STREAM_MEDIA = 'text/event-stream';

export const STREAM_HEADERS = { 'Cache-Control': 'no-cache, no-transform', 'X-Accel-Buffering': 'no' };

/** The stream has a limit of its own, and a HEAD of it would never end. */
export const STREAM_OPTIONS = { handlerTimeout: STREAM_LIMIT_MS + 60_000, exposeHeadRoute: false };

/** If the beginning of a stream fails, the answer is an error like any other, and the stream no longer counts as
 *  open. */
export async function beginOrClose(stream: EventStream, begin: () => Promise<void>): Promise<void> {
  try {
    await begin();
  } catch (error) {
    stream.readable.destroy();
    throw error;
  }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A stream is open for long, and the time says nothing about how fast it was answered. */
    isStream?: boolean;
  }
}
