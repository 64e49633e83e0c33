import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { watchBody } from '../../../src/api/http/watch-body.js';
import { ALICE, openApi, type TestApi, tokenOf } from '../setup.js';

describe('a body that does not come to its end', () => {
  let api: TestApi;
  let port: number;
  beforeAll(async () => {
    api = await openApi({ bodyWithinMs: 300 });
    await api.app.listen({ port: 0, host: '127.0.0.1' });
    port = (api.app.server.address() as AddressInfo).port;
  });
  afterAll(() => api.close());

  /** Sends a head that announces more than the part, and a byte now and then. Answers all that came back until the connection closed. */
  async function dribble(head: string, part: string): Promise<string> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(`${head}\r\nHost: x\r\n\r\n${part}`);
    const timer = setInterval(() => socket.write(' '), 50);
    const answer = await readToEnd(socket);
    clearInterval(timer);
    return answer;
  }

  async function readToEnd(socket: Socket): Promise<string> {
    let text = '';
    socket.on('data', (part: Buffer) => (text += part.toString())).on('error', () => undefined);
    await once(socket, 'close');
    return text;
  }

  it('is answered 408, and its connection is closed', async () => {
    const head = `POST /api/v1/canaries HTTP/1.1\r\nAuthorization: Bearer ${await tokenOf(ALICE)}\r\nContent-Type: application/json\r\nContent-Length: 1000`;
    const answer = await dribble(head, '{');
    expect(answer).toMatch(/^HTTP\/1.1 408 /);
    expect(answer).toContain('request_timeout');
    expect(answer.match(/HTTP\/1.1/g)).toHaveLength(1);
  });

  it('loses its connection where the answer was given without it', async () => {
    const answer = await dribble('GET /health/live HTTP/1.1\r\nContent-Length: 1000', 'x');
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
  });

  it('loses its connection where there is no such path', async () => {
    const answer = await dribble(
      'POST /nowhere HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 1000',
      '{',
    );
    expect(answer).toMatch(/^HTTP\/1.1 4\d\d /);
  });

  it('does not hurt a body that comes in time', async () => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/canaries`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await tokenOf(ALICE)}`, 'content-type': 'application/json' },
      body: '{}',
    });
    expect(response.status).toBe(202);
  });
});

describe('a body that is passed on as it comes', () => {
  it('fails when its sender falls silent', async () => {
    const body = new PassThrough();
    const watched = watchBody(body, 50);
    body.write('a');
    await expect(watched.toArray()).rejects.toMatchObject({ code: 'request_timeout' });
    expect(body.destroyed).toBe(false);
  });

  it('does not fail while its receiver is slow', async () => {
    const body = new PassThrough({ highWaterMark: 1 });
    const watched = watchBody(body, 50);
    const half = Buffer.alloc(100_000);
    body.write(half);
    body.end(half);
    // The time itself is under test: four times the patience with a silent sender.
    await new Promise((resolve) => setTimeout(resolve, 200));
    let size = 0;
    for await (const part of watched as AsyncIterable<Buffer>) size += part.length;
    expect(size).toBe(200_000);
  });

  it('fails when it is cut off', async () => {
    const body = new PassThrough();
    const watched = watchBody(body, 10_000);
    body.write('a');
    body.destroy();
    await expect(watched.toArray()).rejects.toMatchObject({ code: 'invalid_input' });
  });

  it('is read to its end where its receiver has stopped', async () => {
    const body = new PassThrough();
    watchBody(body, 10_000).destroy();
    body.write(Buffer.alloc(500_000));
    body.end();
    await once(body, 'end');
  });
});
