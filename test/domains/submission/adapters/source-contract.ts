import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../../support/until.js';
import { flood, type SourceServer, startSourceServer, trickle } from './source-server.js';

interface Limits {
  allowPrivate: boolean;
  timeoutMs: number;
}

/** One question to the server at `url`. */
export type Ask = (url: string, limits: Limits, signal: AbortSignal) => Promise<unknown>;

/** Only a server that hangs takes as long. The limit is short, so that the tests of such servers are short. */
const TIMEOUT_MS = 400;
const PATIENT_MS = 20_000;

/** What every question to a server that nobody trusts must come through; `wellFormed` is an answer that is
 *  understood. */
export function sourceContract(name: string, ask: Ask, wellFormed: unknown): void {
  describe(`${name}, with a server`, () => {
    let server: SourceServer;
    let other: SourceServer;
    beforeEach(async () => {
      [server, other] = await Promise.all([startSourceServer(), startSourceServer()]);
    });
    afterEach(() => Promise.all([server.close(), other.close()]));

    function asked(limits: Partial<Limits> = {}, signal = new AbortController().signal): Promise<unknown> {
      return ask(server.url, { allowPrivate: true, timeoutMs: PATIENT_MS, ...limits }, signal);
    }

    async function refusedWith(message: RegExp, limits?: Partial<Limits>): Promise<void> {
      await expect(asked(limits)).rejects.toMatchObject({
        code: 'source_unavailable',
        message: expect.stringMatching(message) as unknown,
      });
      await until('the connection is closed', () => server.open() === 0);
    }

    const slow: [string, (response: ServerResponse) => void][] = [
      ['says nothing', () => undefined],
      ['trickles', trickle],
      ['stops in the middle', (response) => void response.writeHead(200).write('{"objects"')],
    ];
    it.each(slow)('gives up in time if it %s', async (_, how) => {
      server.answer(how);
      await refusedWith(/did not answer in time/, { timeoutMs: TIMEOUT_MS });
    });

    it('reads no more than an answer can have if it sends without end', async () => {
      server.answer(flood);
      await refusedWith(/more than \d+ bytes/);
    });

    const bad: [string, (response: ServerResponse) => void, RegExp][] = [
      ['is not JSON', (response) => response.end('<html>'), /not JSON/],
      ['is other JSON', (response) => response.end('{"objects": 7, "tree": 7}'), /something else/],
      ['is null', (response) => response.end('null'), /something else/],
      ['is packed', (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'), /encoding/],
      [
        'breaks off',
        (response) => response.writeHead(200, { 'content-length': 99 }).write('{', () => response.destroy()),
        /cannot be reached/,
      ],
      ['is an error', (response) => response.writeHead(500).end('{}'), /answered 500/],
      ['hangs up', (response) => response.destroy(), /cannot be reached/],
    ];
    it.each(bad)('whose answer %s, does not believe it', async (_, how, message) => {
      server.answer(how);
      await refusedWith(message);
    });

    it.each([
      ['429 and Retry-After', 429, { 'retry-after': '120' }],
      [
        'an hour whose questions are used up',
        403,
        { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': inTwoMinutes() },
      ],
    ])('tells how long to wait if it asks to be left alone by %s', async (_, status, headers) => {
      server.json({}, status, headers);
      const failure = await asked().catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'source_unavailable' });
      const { retryAfterMs } = (failure as { facts: { retryAfterMs: number } }).facts;
      expect(retryAfterMs).toBeGreaterThan(60_000);
      expect(retryAfterMs).toBeLessThanOrEqual(121_000);
    });

    it('does not follow a redirect to another server, such as a private one', async () => {
      server.answer((response) => response.writeHead(302, { location: `${other.url}/latest/meta-data` }).end());
      await refusedWith(/another server/);
      expect(other.asked).toEqual([]);
    });

    it('follows a redirect to the same server, but not round and round', async () => {
      server.answer((response) => {
        if (server.asked.length === 1) response.writeHead(301, { location: '/moved' }).end();
        else response.end(JSON.stringify(wellFormed));
      });
      await expect(asked()).resolves.toBeDefined();
      expect(server.asked[1]).toBe('GET /moved');
      server.answer((response) => response.writeHead(301, { location: '/again' }).end());
      await refusedWith(/again and again/);
    });

    it('at a private address, asks only where private addresses are allowed', async () => {
      const refusal = /127\.0\.0\.1, which is not a public address; SOURCES_ALLOW_PRIVATE=true allows it/;
      await refusedWith(refusal, { allowPrivate: false });
      expect(server.asked).toEqual([]);
    });

    it('gives a slow request up when the caller stops', async () => {
      const stop = new AbortController();
      server.answer(() => {
        stop.abort();
      });
      await expect(asked({}, stop.signal)).rejects.toMatchObject({ code: 'source_unavailable' });
      await until('the connection is closed', () => server.open() === 0);
    });
  });
}

function inTwoMinutes(): string {
  return String(Math.floor(Date.now() / 1_000) + 120);
}
