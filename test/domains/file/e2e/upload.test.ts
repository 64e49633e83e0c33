import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildApp } from '../../../../src/api/app.js';
import type { App } from '../../../../src/api/parts.js';
import { createPrisma, type Prisma } from '../../../../src/db/postgres/prisma.js';
import { fileDomain } from '../../../../src/domains/file/domain.js';
import { file } from '../../../../src/domains/file/table.js';
import { startEventHub } from '../../../../src/loops/event-hub.js';
import type { BlobStore } from '../../../../src/ports/blob-store.js';
import { createOpenBlobStore } from '../../../../src/start/parts/blob-store.js';
import { settingsOf as domainSettingsOf } from '../../../../src/start/parts/domain.js';
import { loadConfig } from '../../../../src/start/parts/from-domains.js';
import { createMetrics } from '../../../../src/telemetry/metrics.js';
import { createFakeJobs } from '../../../api/fake-jobs.js';
import { createFakeSchedules } from '../../../api/fake-schedules.js';
import { SECRET, tokenOf } from '../../../api/setup.js';
import { settingsOf } from '../../../start/parts.js';
import { runChild } from '../../../start/run-child.js';
import { until } from '../../../support/until.js';
import { silent, useStack } from '../../../support/worker.js';

/** Covers the command, the routes, the disk store, Postgres and Temporal together. The stages are stand-ins. */
const stack = useStack();
let app: App;
let prisma: Prisma;
let hub: ReturnType<typeof startEventHub>;
let folder: string;
let url: string;
let store: BlobStore;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'unstuck-file-e2e-'));
  const config = loadConfig({});
  const line = stack.line(file);
  const table = line.table();
  await line.work();
  const blobs = createOpenBlobStore({ blobs: { kind: 'disk', folder: join(folder, 'blobs'), isNamed: true } });
  store = await blobs();
  prisma = createPrisma(stack.limited);
  hub = startEventHub({ pool: stack.limited, logger: silent });
  app = await buildApp({
    ...{ pool: stack.limited, prisma, engine: stack.engine, pipelines: { file: table, [table.name]: table } },
    ...{ schedules: createFakeSchedules(), jobs: createFakeJobs(), hub, metrics: createMetrics() },
    blobs,
    embedder: () => Promise.reject(new Error('no route of this test embeds a text')),
    logger: pino({ level: 'silent' }),
    ...{ decisionSaves: {}, follows: [], remarks: [], engineQueues: [], metricParts: [] },
    domainRoutes: [(to, parts) => fileDomain.routes?.(to, parts, domainSettingsOf(config, fileDomain))],
    settings: {
      auth: { secret: SECRET },
      limits: { rateLimitPerMinute: 600, maxEventLoopDelayMs: 0, maxStreams: 10, maxStreamsPerCaller: 10 },
      bodyLimitBytes: 1_000_000,
      temporalUi: null,
      sendsMail: false,
      trustProxy: null,
      pauses: { default: '1h', max: '24h' },
      version: 'test',
      links: { secret: SECRET, publicUrl: undefined },
    },
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
}, 60_000);
afterAll(async () => {
  await Promise.all([app.close(), hub.stop()]);
  await prisma.$disconnect();
  rmSync(folder, { recursive: true, force: true });
});

it('uploads a folder of 30 files with the command, and every file is ready with its bytes in the store', async () => {
  const source = join(folder, 'source');
  mkdirSync(source);
  const contents = Array.from({ length: 30 }, (_, n) => `file ${n} `.repeat(20_000 + n));
  contents.forEach((content, n) => {
    writeFileSync(join(source, `${n}.txt`), content);
  });
  const token = await tokenOf({ sub: 'erin', roles: ['user'] });
  const child = runChild('src/domains/file/start/upload.ts', [source, '--url', url, '--token', token], {
    env: settingsOf({ DATA_DIR: folder }),
  });

  expect(await child.exited, child.output()).toBe(0);

  const figures = JSON.parse(child.output().trimEnd().split('\n').at(-1) ?? '') as { files: { fileId: string }[] };
  expect(figures).toMatchObject({ ok: true, ready: 30, failed: 0 });
  const { rows } = await stack.pool.query<{ name: string; blobKey: string; state: string }>(
    `SELECT name, blob_key AS "blobKey", state FROM files JOIN items USING (id) WHERE files.owner = 'erin'`,
  );
  expect(rows).toHaveLength(30);
  for (const { name, blobKey, state } of rows) {
    expect(state).toBe('ready');
    const bytes = await buffer(await store.get(blobKey));
    expect(bytes.toString() === contents[Number.parseInt(name, 10)], name).toBe(true);
  }
  const { rows: effects } = await stack.pool.query('SELECT 1 FROM canary_effects');
  expect(effects).toHaveLength(90);
});

it('leaves nothing in the store of an upload that is cut off, and takes it whole afterwards', async () => {
  const headers = { authorization: `Bearer ${await tokenOf({ sub: 'frank' })}`, 'content-type': 'application/json' };
  const files = [{ clientId: 'a', name: 'a.txt', mimeType: 'text/plain', sizeBytes: 1_000_000 }];
  const answer = await fetch(`${url}/api/v2/uploads/batches`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ files }),
  });
  const batch = (await answer.json()) as { files: { uploadUrl: string }[] };
  const path = batch.files[0]?.uploadUrl ?? '';
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(`PUT ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(300_000)}`);
  await until('the store has begun a file', async () => leftIn(join(folder, 'blobs')).length > 30);
  socket.destroy();
  await until('the store has removed it', async () => leftIn(join(folder, 'blobs')).length === 30);
  const again = await fetch(`${url}${path}`, { method: 'PUT', body: 'y'.repeat(1_000_000) });
  expect(again.status).toBe(201);
  expect(leftIn(join(folder, 'blobs'))).toHaveLength(31);
});

function leftIn(path: string): string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true }).flatMap((each) =>
    each.isFile() ? [each.name] : [],
  );
}
