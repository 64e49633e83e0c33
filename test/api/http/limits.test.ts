import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blockLoop } from '../../support/block-loop.js';
import { until } from '../../support/until.js';
import { ALICE, BOB, openApi, submit, type TestApi } from '../setup.js';

describe('a caller that asks too often', () => {
  let api: TestApi;
  let url: string;
  beforeAll(async () => {
    api = await openApi({ limits: { rateLimitPerMinute: 3 } });
    url = `/api/v1/items/${(await submit(api, { sub: 'somebody' })).id}`;
  });
  afterAll(() => api.close());

  it('is told how much is left, and then to wait, alone among all callers', async () => {
    const [first, second, third, fourth] = [
      await api.call({ url, as: ALICE }),
      await api.call({ url, as: ALICE }),
      await api.call({ url, as: ALICE }),
      await api.call({ url, as: ALICE }),
    ];
    const left = [first, second, third].map(({ headers }) => [
      headers['ratelimit-limit'],
      headers['ratelimit-remaining'],
    ]);
    expect(left).toEqual([
      ['3', '2'],
      ['3', '1'],
      ['3', '0'],
    ]);
    expect(fourth.statusCode).toBe(429);
    expect(fourth.json()).toMatchObject({ code: 'rate_limited' });
    expect(Number(fourth.headers['retry-after'])).toBeGreaterThan(0);
    expect(fourth.headers['ratelimit-reset']).toBeDefined();

    expect((await api.call({ url, as: BOB })).statusCode).toBe(404);
  });

  it('cannot try tokens without end', async () => {
    const headers = { authorization: 'Bearer forged' };
    const statuses = [];
    for (let n = 0; n < 4; n += 1) statuses.push((await api.call({ url, headers })).statusCode);
    expect(statuses).toEqual([401, 401, 401, 429]);
  });

  it('may always ask for health', async () => {
    for (let n = 0; n < 6; n += 1) expect((await api.call({ url: '/health/live' })).statusCode).toBe(200);
  });
});

describe('anonymous readers behind a proxy', () => {
  async function ask(trustProxy: 1 | null, addresses: readonly string[]): Promise<number[]> {
    const api = await openApi({ limits: { rateLimitPerMinute: 1 }, trustProxy });
    const statuses = [];
    for (const address of addresses) {
      statuses.push((await api.call({ url: '/nowhere', headers: { 'x-forwarded-for': address } })).statusCode);
    }
    await api.close();
    return statuses;
  }

  it('have a limit each where the proxy is trusted', async () => {
    expect(await ask(1, ['192.0.2.1', '192.0.2.2', '192.0.2.1'])).toEqual([404, 404, 429]);
  });

  it('cannot escape the limit by an address that they made up, where the one proxy is trusted', async () => {
    expect(await ask(1, ['192.0.2.1', '198.51.100.7, 192.0.2.1'])).toEqual([404, 429]);
  });

  it('share one limit where no proxy is trusted', async () => {
    expect(await ask(null, ['192.0.2.1', '192.0.2.2'])).toEqual([404, 429]);
  });
});

describe('a server that is late', () => {
  const limit = 200;
  let api: TestApi;
  beforeAll(async () => {
    api = await openApi({ limits: { maxEventLoopDelayMs: limit } });
  });
  afterAll(() => api.close());

  it('sheds requests, says when to come back, stays reachable for health, and recovers', async () => {
    const request = { method: 'POST', url: '/api/v1/canaries', as: ALICE } as const;
    const { shed, live } = await until('a request is shed', async () => {
      blockLoop(5 * limit);
      const answers = { shed: await api.call(request), live: await api.call({ url: '/health/live' }) };
      return answers.shed.statusCode === 503 && answers;
    });
    expect(shed.json()).toMatchObject({ code: 'overloaded' });
    expect(shed.headers['retry-after']).toBe('10');
    expect(live.statusCode).toBe(200);

    await until('requests are served again', async () => (await api.call(request)).statusCode === 202);
  });
});

describe('a server that is late by less than its limit', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await openApi({ limits: { maxEventLoopDelayMs: 1_000 } });
  });
  afterAll(() => api.close());

  it('serves every request', async () => {
    const statuses = [];
    for (let n = 0; n < 8; n += 1) {
      blockLoop(300);
      statuses.push((await api.call({ method: 'POST', url: '/api/v1/canaries', as: ALICE })).statusCode);
    }
    expect(new Set(statuses)).toEqual(new Set([202]));
  });
});

describe('every answer', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await openApi();
  });
  afterAll(() => api.close());

  it.each(['/health/live', '/nowhere', '/api/v1/items/x'])(
    'to %s has the security headers and opens nothing to other origins',
    async (url) => {
      const { headers } = await api.call({ url, headers: { origin: 'https://elsewhere.example' } });
      expect(headers['content-security-policy']).toBe("default-src 'none';frame-ancestors 'none'");
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['access-control-allow-origin']).toBeUndefined();
      expect(headers['x-powered-by']).toBeUndefined();
    },
  );

  it('carries the id its request came with, if that can stand in a log', async () => {
    const given = await api.call({ url: '/nowhere', headers: { 'x-request-id': 'trace-42.a:b_c' } });
    expect(given.headers['x-request-id']).toBe('trace-42.a:b_c');
    expect(given.json()).toMatchObject({ requestId: 'trace-42.a:b_c' });
    for (const bad of ['two words', 'x'.repeat(65), '{"a":1}', '']) {
      const { headers } = await api.call({ url: '/nowhere', headers: { 'x-request-id': bad } });
      expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  it('does not let another origin ask beforehand', async () => {
    const headers = { origin: 'https://elsewhere.example', 'access-control-request-method': 'POST' };
    const response = await api.call({ method: 'OPTIONS', url: '/api/v1/canaries', headers });
    expect(response.statusCode).toBe(405);
    expect(response.headers['access-control-allow-methods']).toBeUndefined();
  });
});
