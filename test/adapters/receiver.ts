import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Mood } from '../ports/notifier-contract.js';

export interface Received {
  headers: IncomingHttpHeaders;
  body: string;
  path: string;
}

export interface Receiver {
  url: string;
  port: number;
  received: Received[];
  /** Sets the answer to all later requests. A request is read before it is answered. */
  answer(how: (response: ServerResponse) => void): void;
  behave(mood: Mood): void;
  close(): Promise<void>;
}

/** Answers of a webhook's receiver. */
const MOODS: Record<Mood, (response: ServerResponse) => void> = {
  well: (response) => response.writeHead(204).end(),
  overloaded: (response) => response.writeHead(503).end('come back later'),
  refusing: (response) => response.writeHead(400).end('invalid_payload'),
  silent: () => undefined,
  gone: (response) => response.destroy(),
};

/** A real server on this machine. */
export async function startReceiver(): Promise<Receiver> {
  let answer = MOODS.well;
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString(), path: request.url ?? '' });
      answer(response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    received,
    answer(how) {
      answer = how;
    },
    behave(mood) {
      answer = MOODS[mood];
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
