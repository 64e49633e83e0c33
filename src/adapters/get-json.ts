import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { AppError } from '../core/errors.js';
import { addressesOf, pinnedTo, type Resolve, resolveName, unlessAborted } from './host-addresses.js';
import { isPublicAddress } from './public-address.js';
import { retryAfterMsOf } from './retry-after.js';

export interface GetOptions {
  /** Private, loopback, link-local and other special addresses are refused unless this is set. */
  allowPrivate: boolean;
  /** For the whole of one answer, redirects included. */
  timeoutMs: number;
  maxBytes: number;
  headers?: Readonly<Record<string, string>>;
  /** The system's own by default. */
  resolve?: Resolve;
}

export type GetJson = (url: URL, signal: AbortSignal) => Promise<Found | null>;

interface Found {
  json: unknown;
}

/** A repository that was renamed is one redirect away. */
const MAX_REDIRECTS = 2;

const NOT_THERE = new Set([404, 410, 451]);

/** Reads JSON from a server that nobody trusts: bounded in time and size, from public addresses only. A redirect is followed on
 *  the same server alone, for it could lead anywhere and take a token along. Null: there is no such thing. */
export function createGetJson(options: GetOptions): GetJson {
  return async (url, signal) => {
    const over = new AbortController();
    const giveUp = (): void => {
      over.abort();
    };
    const timer = setTimeout(giveUp, options.timeoutMs);
    signal.addEventListener('abort', giveUp);
    if (signal.aborted) giveUp();
    try {
      return await getFollowing(options, url, over.signal);
    } catch (error) {
      if (signal.aborted) throw unavailable(url, 'was not waited for', error);
      if (over.signal.aborted) throw unavailable(url, 'did not answer in time', error);
      throw error instanceof AppError ? error : unavailable(url, 'cannot be reached', error);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
    }
  };
}

async function getFollowing(options: GetOptions, first: URL, signal: AbortSignal): Promise<Found | null> {
  let url = first;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const response = await open(options, url, signal);
    const { statusCode: status = 0, headers } = response;
    if (status === 200) return { json: parsed(url, await textOf(response, url, options.maxBytes)) };
    response.destroy();
    if (NOT_THERE.has(status)) return null;
    if (status < 300 || status >= 400 || headers.location === undefined) throw refusal(url, response);
    const next = URL.canParse(headers.location, url.href) ? new URL(headers.location, url) : null;
    if (next?.origin !== url.origin) throw unavailable(url, 'redirects to another server, which is not followed');
    url = next;
  }
  throw unavailable(url, 'redirects again and again');
}

async function open(options: GetOptions, url: URL, signal: AbortSignal): Promise<IncomingMessage> {
  const { allowPrivate, headers, resolve = resolveName } = options;
  const addresses = await unlessAborted(signal, addressesOf(url.hostname, resolve));
  const bad = allowPrivate ? undefined : addresses.find((address) => !isPublicAddress(address));
  if (bad !== undefined) {
    throw unavailable(url, `is ${bad}, which is not a public address; SOURCES_ALLOW_PRIVATE=true allows it`);
  }
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolveResponse, reject) => {
    const request = send(url, {
      headers: { accept: 'application/json', 'user-agent': 'unstuck', ...headers },
      // A connection of its own, to an address that was just checked: asked again, the name might lead elsewhere.
      agent: false,
      lookup: pinnedTo(addresses),
      signal,
    });
    request.once('response', resolveResponse).on('error', reject);
    request.end();
  });
}

async function textOf(response: IncomingMessage, url: URL, maxBytes: number): Promise<string> {
  // Not asked for; unpacked, a small answer could be any size.
  if (response.headers['content-encoding'] !== undefined) {
    response.destroy();
    throw unavailable(url, 'answers in an encoding that was not asked for');
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Leaving the loop ends the connection.
    if (bytes > maxBytes) throw unavailable(url, `answers with more than ${String(maxBytes)} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parsed(url: URL, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw unavailable(url, 'answers with what is not JSON', error);
  }
}

function refusal(url: URL, { statusCode = 0, headers }: IncomingMessage): AppError {
  const retryAfterMs = retryAfterMsOf(headers['retry-after']) ?? untilResetOf(headers);
  const facts = retryAfterMs === undefined ? {} : { facts: { retryAfterMs } };
  return new AppError('source_unavailable', `${url.host} answered ${String(statusCode)}`, facts);
}

/** GitHub's way of saying that the questions of this hour are used up. */
function untilResetOf(headers: IncomingMessage['headers']): number | undefined {
  const [left, resetAt] = [headers['x-ratelimit-remaining'], headers['x-ratelimit-reset']];
  if (left !== '0' || typeof resetAt !== 'string' || !/^\d{9,11}$/.test(resetAt)) return undefined;
  return Math.max(0, Number(resetAt) * 1_000 - Date.now());
}

/** Names the server and never the whole address: a path may hold anything. */
export function unavailable(url: URL, what: string, cause?: unknown): AppError {
  return new AppError('source_unavailable', `${url.host} ${what}`, { cause });
}
