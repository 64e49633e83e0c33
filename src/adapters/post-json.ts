import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { AppError } from '../core/errors.js';
import { addressesOf, pinnedTo, type Resolve, resolveName, unlessAborted } from './host-addresses.js';
import { isPublicAddress } from './public-address.js';
import { answerOf, failureOf } from './post-answer.js';

export interface PostOptions {
  url: string;
  /** Private, loopback, link-local and other special addresses are refused unless this is set. */
  allowPrivate: boolean;
  /** The system's own by default. */
  resolve?: Resolve;
}

/** Posts to one URL and resolves when it was taken. Redirects are not followed: they could lead anywhere. */
export function createPostJson({ url: given, allowPrivate, resolve = resolveName }: PostOptions) {
  const url = new URL(given);
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;

  return async (body: string, headers: Record<string, string>, signal: AbortSignal): Promise<void> => {
    const addresses = await unlessAborted(signal, addressesOf(url.hostname, resolve)).catch((error: unknown) => {
      throw failureOf(error as Error, signal);
    });
    if (!allowPrivate) assertPublic(url, addresses);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = send(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'unstuck',
          ...headers,
        },
        // A connection of its own, to an address that was just checked: asked again, the name might lead elsewhere.
        agent: false,
        lookup: pinnedTo(addresses),
        signal,
      });
      request.once('response', resolve).on('error', (error) => {
        reject(failureOf(error, signal));
      });
      request.end(body);
    });
    await answerOf(response);
  };
}

/** One bad address among good ones is enough: which of them is taken is chance. Trying again may help, since names move. */
function assertPublic(url: URL, addresses: readonly string[]): void {
  const bad = addresses.find((address) => !isPublicAddress(address));
  if (bad === undefined) return;
  const sentence = `${url.hostname} is ${bad}, which is not a public address; NOTIFY_ALLOW_PRIVATE=true allows it`;
  throw new AppError('delivery_failed', sentence);
}
