import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/until.js';
import { ALICE, openApi, type TestApi, tokenOf } from './setup.js';

async function listen(api: TestApi): Promise<{ url: string; port: number }> {
  const url = await api.app.listen({ host: '127.0.0.1', port: 0 });
  return { url, port: Number(new URL(url).port) };
}

/** What comes back for these bytes until the server hangs up. */
async function exchange(port: number, bytes: string): Promise<{ head: string; body: string }> {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
  socket.write(bytes);
  await once(socket, 'close');
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  return { head, body };
}

async function isRefused(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return false;
  } catch (error) {
    return (error as { code?: string }).code === 'ECONNREFUSED';
  } finally {
    socket.destroy();
  }
}

describe('what is not even HTTP', () => {
  let api: TestApi;
  let port: number;
  beforeAll(async () => {
    api = await openApi();
    ({ port } = await listen(api));
  });
  afterAll(() => api.close());

  it.each([
    ['nonsense', 'HELLO\r\n\r\n', 400, 'invalid_input'],
    [
      'headers without end',
      `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`,
      413,
      'payload_too_large',
    ],
  ])('%s is answered like every other error', async (_, bytes, status, code) => {
    const { head, body } = await exchange(port, bytes);
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${String(status)} `));
    expect(head).toContain('Content-Type: application/problem+json');
    expect(JSON.parse(body)).toMatchObject({ status, code, requestId: expect.any(String) as string });
  });
});

describe('a server that is asked to close', () => {
  it('finishes what is in flight, takes no new connection, and waits for none that says nothing', async () => {
    const api = await openApi();
    const { url, port } = await listen(api);
    const silent = connect(port, '127.0.0.1');
    silent.on('error', () => undefined);
    await once(silent, 'connect');
    api.engine.mood = 'silent';
    const headers = { authorization: `Bearer ${await tokenOf(ALICE)}`, connection: 'keep-alive' };
    const inFlight = fetch(`${url}/api/v1/canaries`, { method: 'POST', headers });
    await until('the row is there', async () => {
      const { rows } = await api.database.pool.query('SELECT 1 FROM items');
      return rows.length > 0;
    });

    const closed = api.app.close();
    await until('new connections are refused', () => isRefused(port));

    const answer = await inFlight;
    expect([answer.status, answer.headers.get('connection')]).toEqual([202, 'close']);
    await closed;
    await api.close();
  });
});
