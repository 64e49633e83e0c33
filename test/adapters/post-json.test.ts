import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createPostJson, type PostOptions } from '../../src/adapters/post-json.js';
import { PATIENT } from '../ports/notifier-contract.js';
import { type Receiver, startReceiver } from './receiver.js';

let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
});
beforeEach(() => {
  receiver.behave('well');
  receiver.received.length = 0;
});
afterAll(() => receiver.close());

function post(options: Partial<PostOptions> = {}, signal = PATIENT): Promise<void> {
  return createPostJson({ url: receiver.url, allowPrivate: true, ...options })('{}', {}, signal);
}

/** A server that sends the given bytes and nothing else. */
async function rawServer(onConnect: (write: (text: string) => void) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      onConnect((text) => socket.writable && socket.write(text));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

describe('the status of an answer', () => {
  it.each([200, 201, 202, 204])('%i: delivered', async (status) => {
    receiver.answer((response) => response.writeHead(status).end());

    await expect(post()).resolves.toBeUndefined();
  });

  it.each([400, 401, 403, 404, 410, 413, 422])('%i: refused for good', async (status) => {
    receiver.answer((response) => response.writeHead(status).end('no\r\nsuch\thook'));

    await expect(post()).rejects.toMatchObject({
      code: 'delivery_refused',
      message: `the receiver answered ${status}: no such hook`,
    });
  });

  it.each([301, 304, 408, 429, 500, 502, 503, 599])('%i: worth another try', async (status) => {
    receiver.answer((response) => response.writeHead(status).end());

    await expect(post()).rejects.toMatchObject({ code: 'delivery_failed', facts: undefined });
  });

  it.each([
    ['120', 120_000],
    ['0', 0],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['soon', undefined],
    ['-5', undefined],
  ])('keeps the wait that Retry-After asks for: %s', async (header, retryAfterMs) => {
    receiver.answer((response) => response.writeHead(429, { 'retry-after': header }).end());

    const facts = retryAfterMs === undefined ? undefined : { retryAfterMs };
    await expect(post()).rejects.toMatchObject({ code: 'delivery_failed', facts });
  });

  it('keeps a date that Retry-After names', async () => {
    const at = new Date(Date.now() + 600_000).toUTCString();
    receiver.answer((response) => response.writeHead(503, { 'retry-after': at }).end());

    const error = (await post().catch((caught: unknown) => caught)) as { facts: { retryAfterMs: number } };

    expect(error.facts.retryAfterMs).toBeGreaterThan(300_000);
    expect(error.facts.retryAfterMs).toBeLessThanOrEqual(600_000);
  });
});

describe('a receiver that behaves badly', () => {
  it('is not followed when it redirects', async () => {
    const elsewhere = await startReceiver();
    onTestFinished(() => elsewhere.close());

    for (const status of [301, 302, 303, 307, 308]) {
      receiver.answer((response) => response.writeHead(status, { location: elsewhere.url }).end());
      await expect(post()).rejects.toMatchObject({ code: 'delivery_failed' });
    }

    expect(receiver.received).toHaveLength(5);
    expect(elsewhere.received).toHaveLength(0);
  });

  it('may answer without end: the connection is closed, and the status holds', async () => {
    let closed = 0;
    for (const [status, code] of [
      [200, 'taken'],
      [500, 'delivery_failed'],
    ] as const) {
      receiver.answer((response) => {
        response.writeHead(status);
        const more = () => response.write('x'.repeat(65_536)) && setImmediate(more);
        response.on('drain', more).on('close', () => (closed += 1));
        more();
      });
      const end = await post().then(
        () => 'taken',
        (error: { code: string; message: string }) => {
          expect(error.message.length).toBeLessThan(300);
          return error.code;
        },
      );
      expect(end).toBe(code);
    }
    await expect.poll(() => closed).toBe(2);
  });

  it('has the notice once its status says so, though its body trickles', async () => {
    receiver.answer((response) => {
      const timer = setInterval(() => response.write('.'), 20);
      response.writeHead(200).on('close', () => {
        clearInterval(timer);
      });
    });

    await expect(post({}, AbortSignal.timeout(500))).resolves.toBeUndefined();
  });

  it('does not have the notice while it trickles its headers', async () => {
    const url = await rawServer((write) => {
      write('HTTP/1.1 200 OK\r\n');
      const timer = setInterval(() => {
        write('x-slow: 1\r\n');
      }, 20);
      onTestFinished(() => {
        clearInterval(timer);
      });
    });

    await expect(post({ url }, AbortSignal.timeout(500))).rejects.toMatchObject({
      code: 'delivery_failed',
      message: 'the receiver did not answer in time',
    });
  });

  it.each([
    ['headers without end', `HTTP/1.1 200 OK\r\nx-huge: ${'x'.repeat(100_000)}\r\n\r\n`],
    ['something else than HTTP', '220 mail.example.com ESMTP\r\n'],
  ])('is not believed when it sends %s', async (_, answer) => {
    const url = await rawServer((write) => {
      write(answer);
    });

    await expect(post({ url })).rejects.toMatchObject({ code: 'delivery_failed' });
  });

  it('may be away', async () => {
    const gone = await startReceiver();
    await gone.close();

    await expect(post({ url: gone.url })).rejects.toMatchObject({
      code: 'delivery_failed',
      message: expect.stringContaining('ECONNREFUSED') as string,
    });
  });
});

describe('the destination of a request', () => {
  it.each([
    'http://127.0.0.1:PORT/',
    'http://localhost:PORT/',
    'http://2130706433:PORT/',
    'http://0x7f.1:PORT/',
    'http://0:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
  ])('is never this machine, however its address is spelled: %s', async (spelled) => {
    const url = spelled.replace('PORT', String(receiver.port));

    await expect(post({ url, allowPrivate: false })).rejects.toMatchObject({
      code: 'delivery_failed',
      message: expect.stringContaining('NOTIFY_ALLOW_PRIVATE') as string,
    });

    expect(receiver.received).toHaveLength(0);
  });

  it.each([[['10.0.0.1']], [['93.184.216.34', '169.254.169.254']], [['fd00::1', '2606:4700::1']]])(
    'is no name with a private address among its addresses: %j',
    async (addresses) => {
      const url = `http://hooks.example.com:${receiver.port}/`;

      const refused = post({ url, allowPrivate: false, resolve: async () => addresses });

      await expect(refused).rejects.toMatchObject({
        message: expect.stringContaining('not a public address') as string,
      });
    },
  );

  it('is the checked address: the name is looked up once, and a later answer does not matter', async () => {
    const url = `http://rebinding.example.com:${receiver.port}/hook`;
    const answers = [['127.0.0.1'], ['192.0.2.1']];
    let asked = 0;

    await post({ url, resolve: async () => answers[asked++] ?? [] });

    expect(asked).toBe(1);
    expect(receiver.received[0]?.headers.host).toBe(`rebinding.example.com:${receiver.port}`);
  });

  it('is the checked address, even if the system resolves the name to another', async () => {
    // The receiver listens on 127.0.0.1, to which the system resolves `localhost`. Nothing listens on 127.0.0.2.
    const url = `http://localhost:${receiver.port}/`;

    await expect(post({ url, resolve: async () => ['127.0.0.2'] })).rejects.toMatchObject({
      message: expect.stringContaining('127.0.0.2') as string,
    });

    expect(receiver.received).toHaveLength(0);
  });

  it('is checked by its certificate against the name, and not against the address', async () => {
    const hello = new Promise<Buffer>((resolve) => {
      const server = createServer((socket) => {
        socket.on('error', () => undefined);
        socket.once('data', (bytes) => {
          resolve(bytes);
          socket.destroy();
        });
      });
      onTestFinished(() => void server.close());
      server.listen(0, '127.0.0.1', () => {
        const url = `https://hooks.example.com:${(server.address() as AddressInfo).port}/`;
        const sent = post({ url, resolve: async () => ['127.0.0.1'] });
        sent.catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'delivery_failed' });
        });
      });
    });

    expect((await hello).includes('hooks.example.com')).toBe(true);
  });

  it.each([
    ['fails', () => Promise.reject(new Error('SERVFAIL'))],
    ['says nothing', async () => []],
    ['hangs', () => new Promise<never>(() => undefined)],
  ])('is nowhere when the resolver %s', async (_, resolve) => {
    const url = 'http://hooks.example.com/';

    await expect(post({ url, resolve }, AbortSignal.timeout(200))).rejects.toMatchObject({ code: 'delivery_failed' });
  });
});
