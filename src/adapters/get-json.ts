import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { AppError } from '../core/errors.js';
import { runWithinTime } from '../ports/within-time.js';
import { resolveHost, pinLookup, type Resolve, resolveName, abandonOnAbort } from './host-addresses.js';
import { isPublicAddress } from './public-address.js';
import { retryAfterMsOf } from './retry-after.js';

export interface GetOptions {
  /** Private, loopback, link-local and other special addresses are refused unless this is set. */
  allowPrivate: boolean;
  /** The variable that sets `allowPrivate`. A refusal names it, so that the operator knows how to allow the address. */
  allowPrivateSetting: string;
  /** For one whole answer, redirects included. */
  timeoutMs: number;
  maxBytes: number;
  headers?: Readonly<Record<string, string>>;
  /** The system's resolver by default. */
  resolve?: Resolve;
}

export type GetJson = (url: URL, signal: AbortSignal) => Promise<Found | null>;

interface Found {
  json: unknown;
}

/** A server redirects once for each time that a thing was renamed. */
const MAX_REDIRECTS = 2;

const NOT_THERE = new Set([404, 410, 451]);

/** Reads JSON from an untrusted server: bounded in time and size, from public addresses only. A redirect is followed
 *  on the same server alone, because it could lead anywhere and take a token along. Null: the server has nothing
 *  under this address. */
export function createGetJson(options: GetOptions): GetJson {
  return (url, signal) =>
    runWithinTime({ signal, timeoutMs: options.timeoutMs }, async (limit) => {
      try {
        return await getFollowing(options, url, limit);
      } catch (error) {
        if (signal.aborted) throw sourceUnavailable(url, 'was not waited for', error);
        if (limit.aborted) throw sourceUnavailable(url, 'did not answer in time', error);
        throw error instanceof AppError ? error : sourceUnavailable(url, 'cannot be reached', error);
      }
    });
}

async function getFollowing(options: GetOptions, first: URL, signal: AbortSignal): Promise<Found | null> {
  let url = first;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const response = await sendRequest(options, url, signal);
    const { statusCode: status = 0, headers } = response;
    if (status === 200) return { json: parseJson(url, await readText(response, url, options.maxBytes)) };
    response.destroy();
    if (NOT_THERE.has(status)) return null;
    if (status < 300 || status >= 400 || headers.location === undefined) throw statusFailureOf(url, response);
    const next = URL.canParse(headers.location, url.href) ? new URL(headers.location, url) : null;
    if (next?.origin !== url.origin) throw sourceUnavailable(url, 'redirects to another server, which is not followed');
    url = next;
  }
  throw sourceUnavailable(url, 'redirects again and again');
}

async function sendRequest(options: GetOptions, url: URL, signal: AbortSignal): Promise<IncomingMessage> {
  const { allowPrivate, allowPrivateSetting, headers, resolve = resolveName } = options;
  const addresses = await abandonOnAbort(signal, resolveHost(url.hostname, resolve));
  const bad = allowPrivate ? undefined : addresses.find((address) => !isPublicAddress(address));
  if (bad !== undefined) {
    throw sourceUnavailable(url, `is ${bad}, which is not a public address; ${allowPrivateSetting}=true allows it`);
  }
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolveResponse, reject) => {
    const request = send(url, {
      headers: { accept: 'application/json', 'user-agent': 'unstuck', ...headers },
      // A new connection to an address that was just checked. A second look-up of the name might lead elsewhere.
      agent: false,
      lookup: pinLookup(addresses),
      signal,
    });
    request.once('response', resolveResponse).on('error', reject);
    request.end();
  });
}

async function readText(response: IncomingMessage, url: URL, maxBytes: number): Promise<string> {
  // We ask for no encoding, because a small packed answer could unpack to any size.
  if (response.headers['content-encoding'] !== undefined) {
    response.destroy();
    throw sourceUnavailable(url, 'answers in an encoding that was not asked for');
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Leaving the loop ends the connection.
    if (bytes > maxBytes) throw sourceUnavailable(url, `answers with more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseJson(url: URL, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw sourceUnavailable(url, 'answers with what is not JSON', error);
  }
}

function statusFailureOf(url: URL, { statusCode = 0, headers }: IncomingMessage): AppError {
  const retryAfterMs = retryAfterMsOf(headers['retry-after']) ?? untilResetOf(headers);
  const facts = retryAfterMs === undefined ? {} : { facts: { retryAfterMs } };
  return new AppError('source_unavailable', `${url.host} answered ${statusCode}`, facts);
}

/** GitHub's headers for a client that has used up its requests of this hour. */
function untilResetOf(headers: IncomingMessage['headers']): number | undefined {
  const [left, resetAt] = [headers['x-ratelimit-remaining'], headers['x-ratelimit-reset']];
  if (left !== '0' || typeof resetAt !== 'string' || !/^\d{9,11}$/.test(resetAt)) return undefined;
  return Math.max(0, Number(resetAt) * 1_000 - Date.now());
}

/** The message names the server alone, because a path may hold a secret. */
export function sourceUnavailable(url: URL, what: string, cause?: unknown): AppError {
  return new AppError('source_unavailable', `${url.host} ${what}`, { cause });
}
