import { Readable } from 'node:stream';
import { AppError } from '../../core/errors.js';
import { msOf } from '../../core/span.js';
import type { App } from '../parts.js';

export interface StreamLimits {
  /** Open streams of this process, and of one caller. */
  maxStreams: number;
  maxStreamsPerCaller: number;
}

export interface StreamEvent {
  event: string;
  id?: string;
  data: object;
}

/** One reader of server-sent events. */
export interface EventStream {
  readable: Readable;
  send(event: StreamEvent): void;
  /** The position from which the reader would resume if nothing is sent for a while. */
  resumesAt(id: () => string): void;
  onClose(release: () => void): void;
  end(): void;
  isOpen(): boolean;
}

export interface OpenStreams {
  open(caller: string): EventStream;
}

/** Proxies give up on a silent connection after a minute, the server itself after two. */
const KEEP_ALIVE_MS = 15_000;

/** A stream is ended after this time. Its reader comes back with a token, which is checked again. */
export const STREAM_LIMIT_MS = msOf('15m');

/** A reader this far behind has stopped reading, so its stream is closed. A reader that reads again opens a new
 *  stream. */
const MAX_BEHIND_CHARACTERS = 1_000_000;

export function createOpenStreams(app: App, { maxStreams, maxStreamsPerCaller }: StreamLimits): OpenStreams {
  const open = new Map<EventStream, string>();
  // Readers that never leave must not keep the process from ending.
  app.addHook('preClose', async () => {
    for (const stream of open.keys()) stream.end();
  });

  function assertRoom(caller: string): void {
    if (open.size >= maxStreams) throw new AppError('overloaded', 'too many streams are open; try again in a moment');
    const own = [...open.values()].filter((each) => each === caller).length;
    if (own < maxStreamsPerCaller) return;
    throw new AppError('rate_limited', `more than ${maxStreamsPerCaller} open streams; close one first`);
  }
  return {
    open(caller) {
      assertRoom(caller);
      const stream = createEventStream();
      open.set(stream, caller);
      stream.onClose(() => open.delete(stream));
      return stream;
    },
  };
}

function createEventStream(): EventStream {
  const readable = new Readable({ read: () => undefined });
  let resumeId: (() => string) | undefined;

  function write(text: string): void {
    if (readable.destroyed || readable.readableEnded) return;
    if (readable.readableLength + text.length > MAX_BEHIND_CHARACTERS) readable.destroy();
    else readable.push(text);
  }
  function end(): void {
    clearInterval(beat);
    if (!readable.destroyed) readable.push(null);
  }
  // An id without data is remembered by the reader and makes no event.
  const beat = setInterval(() => {
    write(`: still here\n${resumeId ? `id: ${resumeId()}\n` : ''}\n`);
  }, KEEP_ALIVE_MS);
  const limit = setTimeout(end, STREAM_LIMIT_MS);
  readable.once('close', () => {
    clearInterval(beat);
    clearTimeout(limit);
  });
  // Sent at once, so that the reader knows that it is connected. It also asks the reader to wait three seconds before
  // it connects again.
  write('retry: 3000\n\n');
  return {
    readable,
    send: ({ event, id, data }) => {
      write(`event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`);
    },
    resumesAt: (id) => {
      resumeId = id;
    },
    onClose: (release) => {
      readable.once('close', release);
    },
    end,
    isOpen: () => !readable.destroyed && !readable.readableEnded,
  };
}
