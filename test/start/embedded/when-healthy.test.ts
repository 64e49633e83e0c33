import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { whenHealthy } from '../../../src/start/embedded/when-healthy.js';

const OK = { status: 'ok' };
const AWAY = { status: 'away' };
const WELL = { status: 'ok', parts: { database: OK, workers: OK } };
const WORKERLESS = { status: 'degraded', parts: { database: OK, workers: AWAY } };
const ENGINELESS = { status: 'degraded', parts: { temporal: AWAY, workers: AWAY } };

/** Answers each question about health with the next of these, and the last one from then on. */
async function answering(...answers: object[]): Promise<{ url: string; asked(): number }> {
  let asked = 0;
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answers[Math.min(asked, answers.length - 1)]));
    asked += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked };
}

function waiting(needsWorkers: boolean) {
  return { needsWorkers, say: () => undefined, signal: new AbortController().signal };
}

it('does not wait for workers that nobody starts', async () => {
  const api = await answering(WORKERLESS);
  await whenHealthy(api.url, waiting(false));
  expect(api.asked()).toBe(1);
});

it('waits for the other parts where nobody starts workers', async () => {
  const api = await answering(ENGINELESS, ENGINELESS, WORKERLESS);
  await whenHealthy(api.url, waiting(false));
  expect(api.asked()).toBe(3);
});

it('waits for the workers that are started', async () => {
  const api = await answering(WORKERLESS, WORKERLESS, WELL);
  await whenHealthy(api.url, waiting(true));
  expect(api.asked()).toBe(3);
});
