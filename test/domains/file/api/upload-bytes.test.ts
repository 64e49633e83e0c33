import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { BlobStore } from '../../../../src/ports/blob-store.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createUploadSignatures } from '../../../../src/domains/file/api/upload-signature.js';
import { until } from '../../../support/until.js';
import { ALICE, SECRET } from '../../../api/setup.js';
import {
  announced,
  batchRow,
  confirm,
  expire,
  type FileApi,
  openFileApi,
  register,
  registerOne,
  send,
  sha256Of,
  stateOf,
  TEXT,
} from '../support/api.js';

let api: FileApi;
let port: number;
beforeAll(async () => {
  api = await openFileApi({ limits: { rateLimitPerMinute: 600 } });
  await api.app.listen({ port: 0, host: '127.0.0.1' });
  port = (api.app.server.address() as AddressInfo).port;
});
afterAll(() => api.close());

function keyOf(fileId: string): string {
  return `uploads/${sha256Of('alice').slice(0, 32)}/${fileId}`;
}

/** A connection that has sent the head of a PUT and a part of its body. */
async function begin(uploadUrl: string, length: number, part: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(`PUT ${uploadUrl} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${part}`);
  return socket;
}

describe('the bytes of a file', () => {
  it('are stored under the owner’s key, and move the file on', async () => {
    const one = await registerOne(api, ALICE);
    const answer = await send(api, one.uploadUrl);
    expect(answer.statusCode).toBe(201);
    expect(answer.json()).toEqual({ fileId: one.fileId, state: 'uploaded', sizeBytes: TEXT.length });
    expect(api.store.kept.get(keyOf(one.fileId))?.toString()).toBe(TEXT);
    expect(await stateOf(api, one.fileId)).toBe('uploaded');
    expect(await batchRow(api, one.batchId)).toEqual({ status: 'active', unconfirmed: 1 });
  });

  it.each(['application/json', 'text/plain', 'image/png'])('may have the type %s, and are not read', async (type) => {
    const one = await registerOne(api, ALICE);
    expect((await send(api, one.uploadUrl, TEXT, { 'content-type': type })).statusCode).toBe(201);
  });

  it('may come in chunks without a length', async () => {
    const one = await registerOne(api, ALICE);
    const response = await fetch(`http://127.0.0.1:${port}${one.uploadUrl}`, {
      method: 'PUT',
      body: Readable.toWeb(
        Readable.from([Buffer.from(TEXT.slice(0, 10)), Buffer.from(TEXT.slice(10))]),
      ) as ReadableStream,
      duplex: 'half',
    });
    expect(response.status).toBe(201);
    expect(api.store.kept.get(keyOf(one.fileId))?.toString()).toBe(TEXT);
  });

  it('that are more than announced are refused before they have all come', async () => {
    const one = await registerOne(api, ALICE);
    const endless = new Readable({
      read() {
        this.push(Buffer.alloc(65_536));
      },
    });
    const response = await fetch(`http://127.0.0.1:${port}${one.uploadUrl}`, {
      method: 'PUT',
      body: Readable.toWeb(endless) as ReadableStream,
      duplex: 'half',
    }).catch((error: unknown) => error);
    endless.destroy();
    if (response instanceof Response) expect(response.status).toBe(400);
    expect(api.store.received).toBeLessThan(200_000);
    expect(api.store.kept.has(keyOf(one.fileId))).toBe(false);
    expect(await stateOf(api, one.fileId)).toBe('registered');
  });

  it('with another Content-Length than announced are refused at once, before any byte has come', async () => {
    const one = await registerOne(api, ALICE);
    const socket = await begin(one.uploadUrl, TEXT.length + 1, '');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    expect(answer.toString()).toMatch(/^HTTP\/1.1 400 .*connection: close.*blob_mismatch/is);
  });

  it('of another content are refused, and may be sent again', async () => {
    const one = await registerOne(api, ALICE);
    const lie = await send(api, one.uploadUrl, TEXT.replace('quick', 'QUICK'));
    expect(lie.statusCode).toBe(400);
    expect(lie.json()).toMatchObject({ code: 'blob_mismatch' });
    expect(api.store.kept.has(keyOf(one.fileId))).toBe(false);
    expect((await send(api, one.uploadUrl)).statusCode).toBe(201);
  });

  it('are taken once', async () => {
    const one = await registerOne(api, ALICE);
    expect((await send(api, one.uploadUrl)).statusCode).toBe(201);
    expect((await send(api, one.uploadUrl)).statusCode).toBe(409);
    await confirm(api, ALICE, one);
    expect((await send(api, one.uploadUrl)).statusCode).toBe(409);
    expect(await stateOf(api, one.fileId)).toBe('queued');
  });

  it('of two requests at once are taken from one', async () => {
    const one = await registerOne(api, ALICE);
    const { arrive } = meeting(2);
    api.store.beforeKeep = arrive;
    const answers = await Promise.all([send(api, one.uploadUrl), send(api, one.uploadUrl)]);
    api.store.beforeKeep = () => Promise.resolve();
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([201, 409]);
    expect(await stateOf(api, one.fileId)).toBe('uploaded');
  });

  it('that are cut off leave nothing, and may be sent again', async () => {
    const one = await registerOne(api, ALICE);
    const socket = await begin(one.uploadUrl, TEXT.length, TEXT.slice(0, 20));
    await until('the bytes arrive', async () => api.store.received === 20);
    socket.destroy();
    await until('the API has noticed', async () => (await send(api, one.uploadUrl)).statusCode === 201);
    expect(api.store.kept.get(keyOf(one.fileId))?.toString()).toBe(TEXT);
  });

  it('are known to be there though the process died before it moved the file', async () => {
    const one = await registerOne(api, ALICE);
    api.store.kept.set(keyOf(one.fileId), Buffer.from(TEXT));
    expect((await send(api, one.uploadUrl)).statusCode).toBe(409);
    expect(await stateOf(api, one.fileId)).toBe('uploaded');
  });

  it('are not kept where the batch is cancelled while they come', async () => {
    const one = await registerOne(api, ALICE);
    api.store.beforeKeep = async () => {
      api.store.beforeKeep = () => Promise.resolve();
      await api.call({ method: 'DELETE', url: `/api/v2/uploads/batches/${one.batchId}`, as: ALICE });
    };
    const answer = await send(api, one.uploadUrl);
    expect(answer.statusCode).toBe(410);
    expect(api.store.kept.has(keyOf(one.fileId))).toBe(false);
  });

  it('are refused with 503 while the store is away, and may be sent again', async () => {
    const one = await registerOne(api, ALICE);
    api.store.mood = 'away';
    const refused = await send(api, one.uploadUrl);
    api.store.mood = 'well';
    expect(refused.statusCode).toBe(503);
    expect(refused.headers['retry-after']).toBe('5');
    expect((await send(api, one.uploadUrl)).statusCode).toBe(201);
  });
});

describe('more uploads at once than one process receives', () => {
  it('are told to come back later, and disturb none that is being received', async () => {
    const files = Array.from({ length: 65 }, (_, n) => announced(TEXT, { clientId: String(n) }));
    const { files: registered } = await register(api, ALICE, files);
    const { arrive } = meeting(65);
    let waiting = 0;
    api.store.beforeKeep = () => {
      waiting += 1;
      return arrive();
    };
    const answers = Promise.all(registered.slice(0, 64).map(({ uploadUrl }) => send(api, uploadUrl)));
    const last = registered[64]?.uploadUrl ?? '';
    await until('all places are taken', async () => waiting === 64);
    const refused = await send(api, last);
    void arrive();
    expect(refused.json()).toMatchObject({ code: 'overloaded' });
    expect(new Set((await answers).map(({ statusCode }) => statusCode))).toEqual(new Set([201]));
    api.store.beforeKeep = () => Promise.resolve();
    expect((await send(api, last)).statusCode).toBe(201);
  });
});

describe('a large file over a slow line', () => {
  /** Takes the bytes and keeps none. */
  function sinkBlobs(takes: (bytes: number) => void): BlobStore {
    return {
      ...api.store,
      find: () => Promise.resolve(null),
      async put(key, bytes) {
        let sizeBytes = 0;
        for await (const part of bytes as AsyncIterable<Buffer>) {
          sizeBytes += part.length;
          takes(sizeBytes);
        }
        return { key, sizeBytes, storedAt: new Date() };
      },
    };
  }

  it('may take longer than the body of another route, and is held in memory in small parts', async () => {
    const sizeBytes = 100_000_000;
    let most = 0;
    const before = process.memoryUsage();
    const sink = sinkBlobs(() => {
      const { arrayBuffers, heapUsed } = process.memoryUsage();
      most = Math.max(most, arrayBuffers + heapUsed - before.arrayBuffers - before.heapUsed);
    });
    const slow = await openFileApi({ bodyWithinMs: 200, blobs: () => Promise.resolve(sink) });
    await slow.app.listen({ port: 0, host: '127.0.0.1' });
    const where = slow.app.server.address() as AddressInfo;
    const file = announced('', { sizeBytes });
    delete file.sha256;
    const one = await registerOne(slow, ALICE, file);
    const part = Buffer.alloc(1_000_000);
    let sent = 0;
    const began = performance.now();
    const body = Readable.from(
      (async function* () {
        for (; sent < 100; sent += 1) {
          yield part;
          // Longer in all than an ordinary body may take.
          await setImmediate();
        }
        while (performance.now() - began < 500) await setImmediate();
      })(),
    );
    const response = await fetch(`http://127.0.0.1:${where.port}${one.uploadUrl}`, {
      method: 'PUT',
      body: Readable.toWeb(body) as ReadableStream,
      duplex: 'half',
    });
    await slow.close();
    expect(response.status).toBe(201);
    process.stdout.write(`100 MB passed through ${Math.round(most / 1e6)} MB of memory\n`);
    expect(most).toBeLessThan(60_000_000);
  });
});

describe('a signed address', () => {
  it('opens its own file and no other', async () => {
    const [one, other] = [await registerOne(api, ALICE), await registerOne(api, ALICE)];
    const stolen = one.uploadUrl.replace(one.fileId, other.fileId);
    expect((await send(api, stolen)).statusCode).toBe(403);
    expect(await stateOf(api, other.fileId)).toBe('registered');
  });

  it.each([
    ['a later end', (url: string) => url.replace(/expires=(\d+)/, (_all, at: string) => `expires=${Number(at) + 1}`)],
    ['no signature', (url: string) => url.replace(/signature=.*/, 'signature=')],
    ['a longer signature', (url: string) => `${url}AA`],
    ['another signature', (url: string) => url.replace(/signature=.{4}/, 'signature=AAAA')],
  ])('is refused with %s', async (_what, change) => {
    const one = await registerOne(api, ALICE);
    expect((await send(api, change(one.uploadUrl))).statusCode).toBe(403);
  });

  it('is of no use for another purpose of the same secret, or with another secret', async () => {
    const one = await registerOne(api, ALICE);
    const forged = createUploadSignatures(`${SECRET}!`).pathOf(one.fileId, new Date(Date.now() + 60_000));
    expect((await send(api, forged)).statusCode).toBe(403);
  });

  it('ends with its time', async () => {
    const one = await registerOne(api, ALICE);
    const old = createUploadSignatures(SECRET).pathOf(one.fileId, new Date(Date.now() - 1));
    expect((await send(api, old)).statusCode).toBe(410);
  });

  it('ends with its batch', async () => {
    const one = await registerOne(api, ALICE);
    await expire(api, one.batchId);
    const answer = await send(api, one.uploadUrl);
    expect(answer.statusCode).toBe(410);
    expect(answer.json()).toMatchObject({ code: 'upload_expired' });
  });

  it('ends with its file', async () => {
    const one = await registerOne(api, ALICE);
    expect((await api.call({ method: 'DELETE', url: `/api/v2/files/${one.fileId}`, as: ALICE })).statusCode).toBe(204);
    expect((await send(api, one.uploadUrl)).statusCode).toBe(410);
  });
});

describe('the rate limit', () => {
  it('lets the files of a whole batch be sent and confirmed, while their progress is read', async () => {
    const limited = await openFileApi({ limits: { rateLimitPerMinute: 12 } });
    const files = Array.from({ length: 10 }, (_, n) => announced(TEXT, { clientId: String(n) }));
    const answer = await limited.call({
      method: 'POST',
      url: '/api/v2/uploads/batches',
      as: ALICE,
      payload: { files },
    });
    const { batchId, files: registered } = answer.json<{
      batchId: string;
      files: { fileId: string; uploadUrl: string }[];
    }>();
    const statuses = [];
    for (const { fileId, uploadUrl } of registered) {
      statuses.push((await send(limited, uploadUrl)).statusCode);
      statuses.push((await send(limited, uploadUrl)).statusCode);
      statuses.push((await confirm(limited, ALICE, { batchId, fileId })).statusCode);
      statuses.push((await limited.call({ url: `/api/v2/files/${fileId}`, as: ALICE })).statusCode);
    }
    const more = [];
    for (let n = 0; n < 4; n += 1) {
      more.push((await confirm(limited, ALICE, { batchId, fileId: registered[0]?.fileId ?? '' })).statusCode);
    }
    await limited.close();
    expect(new Set(statuses)).toEqual(new Set([201, 409, 200]));
    expect(more).toEqual([200, 200, 429, 429]);
  });
});

function meeting(size: number): { arrive: () => Promise<void> } {
  let missing = size;
  let open: () => void = () => undefined;
  const all = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    arrive() {
      missing -= 1;
      if (missing === 0) open();
      return all;
    },
  };
}
