import { LLMock } from '@copilotkit/aimock';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { SMTPServer } from 'smtp-server';
import { BEST_MARK, CRITERIA } from '../../src/domains/submission/core/judgement/judgement.js';
import type { Judge } from '../../src/domains/submission/ports/judge.js';

export const API_KEY = 'sk-the-key-that-nobody-may-see';

/** What differs between the protocols, as far as a test must know. */
export interface Protocol {
  name: string;
  create(options: { url: string; timeoutMs: number }): Judge;
  /** The whole answer around what the model says. */
  envelope(text: string, ending?: 'stop' | 'filter' | 'length'): string;
  /** Where the key stands in a request. */
  keyHeader: string;
}

type Answer = (response: ServerResponse) => void;

/** Only a hung test gets there. */
export const UNHURRIED_MS = 25_000;

/** What a model says that finds no fault in anything. */
export function answerOf(given: { concerns?: unknown[]; marks?: Record<string, unknown> } = {}): object {
  const best = Object.fromEntries(CRITERIA.map((name) => [name, BEST_MARK]));
  return { concerns: given.concerns ?? [], marks: { ...best, ...given.marks } };
}

const FINISH = { stop: 'stop', filter: 'content_filter', length: 'length' } as const;

/** What an OpenAI-compatible server sends around what the model says. */
export function completionOf(content: string, ending: keyof typeof FINISH = 'stop'): string {
  const message = { role: 'assistant', content };
  return JSON.stringify({
    id: 'x',
    model: 'rules-v1',
    choices: [{ index: 0, message, finish_reason: FINISH[ending] }],
  });
}

/** A mock of the real services, whose model gives full marks to whatever it is shown. */
export async function startGenerousModel(): Promise<{ url: string; close(): Promise<void> }> {
  const mock = new LLMock({ port: 0, host: '127.0.0.1' });
  mock.onMessage(/[^]*/, { content: JSON.stringify(answerOf()) });
  await mock.start();
  return { url: `${mock.url}/v1`, close: () => mock.stop() };
}

/** Speaks TLS, with a certificate that it made out to itself; what it serves behind it does not matter. */
export async function startStranger(): Promise<{ url: string; close(): Promise<void> }> {
  const server = new SMTPServer({ secure: true, logger: false });
  // The client hangs up as soon as it has seen the certificate.
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `https://localhost:${String(port)}/v1`,
    close: () => new Promise<void>((closed) => server.close(closed)),
  };
}

export function saying(body: string, status = 200, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  };
}

/** A byte now and then, for ever: no pause is ever long enough to be noticed. */
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
