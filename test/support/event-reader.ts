import { until } from './until.js';

export interface ReadEvent {
  event: string;
  id: string | undefined;
  data: Record<string, unknown>;
}

export interface EventReader {
  status: number;
  body(): Promise<string>;
  events: ReadEvent[];
  /** As a browser would remember it. */
  lastId(): string | undefined;
  sees(what: string, test: (events: ReadEvent[]) => boolean): Promise<void>;
  /** Resolves when the server has ended the stream. */
  ended: Promise<void>;
  hangUp(): Promise<void>;
}

/** Reads server-sent events over a real connection. */
export async function readEvents(url: string, headers: Record<string, string>): Promise<EventReader> {
  const hangUp = new AbortController();
  const response = await fetch(url, { headers, signal: hangUp.signal });
  const events: ReadEvent[] = [];
  let last: string | undefined;
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;

  function take(block: string): void {
    const fields = new Map(block.split('\n').map((line) => [line.split(':', 1)[0] ?? '', line.replace(/^\w*: ?/, '')]));
    last = fields.get('id') ?? last;
    const data = fields.get('data');
    if (data === undefined) return;
    events.push({
      event: fields.get('event') ?? 'message',
      id: fields.get('id'),
      data: JSON.parse(data) as ReadEvent['data'],
    });
  }
  async function read(): Promise<void> {
    if (!isStream || !response.body) return;
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of response.body) {
      const blocks = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n\n');
      rest = blocks.pop() ?? '';
      blocks.forEach(take);
    }
  }
  const ended = read();
  ended.catch(() => undefined);
  return {
    status: response.status,
    body: () => response.text(),
    events,
    lastId: () => last,
    sees: async (what, test) => {
      await until(what, () => test(events));
    },
    ended,
    async hangUp() {
      hangUp.abort();
      await ended.catch(() => undefined);
    },
  };
}
