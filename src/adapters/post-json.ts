import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { AppError } from '../core/errors.js';
import { resolveHost, pinLookup, type Resolve, resolveName, abandonOnAbort } from './host-addresses.js';
import { isPublicAddress } from './public-address.js';
import { readAnswer, deliveryFailureOf } from './post-answer.js';

export interface PostOptions {
  url: string;
  /** Private, loopback, link-local and other special addresses are refused unless this is set. */
  allowPrivate: boolean;
  /** The system's resolver by default. */
  resolve?: Resolve;
}

/** Posts to one URL and resolves when the receiver has the body. Redirects are not followed, because they could lead
 *  anywhere. */
export function createPostJson({ url: given, allowPrivate, resolve = resolveName }: PostOptions) {
  const url = new URL(given);
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;

  return async (body: string, headers: Record<string, string>, signal: AbortSignal): Promise<void> => {
    const addresses = await abandonOnAbort(signal, resolveHost(url.hostname, resolve)).catch((error: unknown) => {
      throw deliveryFailureOf(error as Error, signal);
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
        // A new connection to an address that was just checked. A second look-up of the name might lead elsewhere.
        agent: false,
        lookup: pinLookup(addresses),
        signal,
      });
      request.once('response', resolve).on('error', (error) => {
        reject(deliveryFailureOf(error, signal));
      });
      request.end(body);
    });
    await readAnswer(response);
  };
}

/** One bad address among good ones is enough, because chance decides which of them is used. Another try may help,
 *  because the addresses of a name change. */
function assertPublic(url: URL, addresses: readonly string[]): void {
  const bad = addresses.find((address) => !isPublicAddress(address));
  if (bad === undefined) return;
  const sentence = `${url.hostname} is ${bad}, which is not a public address; NOTIFY_ALLOW_PRIVATE=true allows it`;
  throw new AppError('delivery_failed', sentence);
}
