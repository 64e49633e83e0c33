import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { SMTPServer } from 'smtp-server';

export type Ending = 'stop' | 'filter' | 'length';

type Answer = (response: ServerResponse) => void;

const OPENAI_FINISH = { stop: 'stop', filter: 'content_filter', length: 'length' } as const;

/** The body of an OpenAI-compatible server around the model's text. */
export function completionOf(content: string, ending: Ending = 'stop', usage?: object): string {
  const message = { role: 'assistant', content };
  return JSON.stringify({
    id: 'x',
    model: 'rules-v1',
    choices: [{ index: 0, message, finish_reason: OPENAI_FINISH[ending] }],
    usage,
  });
}

/** Speaks TLS with a certificate that it signed itself. The protocol behind the certificate does not matter. */
export async function startUntrustedServer(): Promise<{ url: string; close(): Promise<void> }> {
  const server = new SMTPServer({ secure: true, logger: false });
  // The client hangs up as soon as it has seen the certificate.
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `https://localhost:${port}/v1`,
    close: () => new Promise<void>((closed) => server.close(closed)),
  };
}

export function saying(body: string, status = 200, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  };
}

/** Sends a byte now and then, for ever, so that no pause is long enough to be noticed. */
export function trickling(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => response.write(' '), 20);
  response.on('close', () => {
    clearInterval(timer);
  });
}

/** Small on the wire, large in memory. */
export function bomb(response: ServerResponse): void {
  const packed = gzipSync(Buffer.alloc(20_000_000, ' '));
  response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(packed);
}
