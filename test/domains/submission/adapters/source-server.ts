import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SourceServer {
  url: string;
  /** Every request, as `GET /path?query`, and the headers of the last request. */
  asked: string[];
  lastHeaders(): IncomingMessage['headers'];
  /** Sets the answer to all later requests. */
  answer(how: (response: ServerResponse, request: IncomingMessage) => void): void;
  json(body: unknown, status?: number, headers?: Record<string, string>): void;
  /** The number of open connections. A request that is given up must leave none. */
  open(): number;
  close(): Promise<void>;
}

/** A registry or a host of repositories, on this machine. */
export async function startSourceServer(): Promise<SourceServer> {
  let answer: (response: ServerResponse, request: IncomingMessage) => void = (response) => response.end('{}');
  let lastHeaders: IncomingMessage['headers'] = {};
  let open = 0;
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method ?? ''} ${request.url ?? ''}`);
    lastHeaders = request.headers;
    answer(response, request);
  });
  server.on('connection', (socket) => {
    open += 1;
    socket.on('error', () => undefined).once('close', () => (open -= 1));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    lastHeaders: () => lastHeaders,
    answer(how) {
      answer = how;
    },
    json(body, status = 200, headers = {}) {
      answer = (response) => response.writeHead(status, headers).end(JSON.stringify(body));
    },
    open: () => open,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Sends without end, as fast as the client reads. */
export function flood(response: ServerResponse): void {
  const chunk = Buffer.alloc(65_536, 'a');
  const send = (): void => {
    while (!response.destroyed && response.write(chunk));
  };
  response.writeHead(200, { 'content-type': 'application/json' }).on('drain', send);
  send();
}

/** Sends a byte now and then, for ever. */
export function trickle(response: ServerResponse): void {
  response.writeHead(200);
  const timer = setInterval(() => response.write(' '), 20);
  response.once('close', () => {
    clearInterval(timer);
  });
}
