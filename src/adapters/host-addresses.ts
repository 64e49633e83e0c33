import { lookup } from 'node:dns/promises';
import { isIP, isIPv6, type LookupFunction } from 'node:net';

/** All addresses of a name. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

export async function resolveName(hostname: string): Promise<string[]> {
  const found = await lookup(hostname, { all: true });
  return found.map(({ address }) => address);
}

/** All addresses of a host. A host that is an address itself needs no look-up. */
export async function resolveHost(host: string, resolve: Resolve): Promise<readonly string[]> {
  const hostname = host.replace(/^\[(.*)\]$/, '$1');
  if (isIP(hostname)) return [hostname];
  const addresses = await resolve(hostname).catch((error: unknown) => {
    throw new Error(`${hostname} could not be resolved`, { cause: error });
  });
  if (addresses.length > 0) return addresses;
  throw new Error(`${hostname} has no address`);
}

/** Stops waiting when the signal is aborted. The work goes on unheard, because the system's resolver can't be
 *  interrupted. */
export async function abandonOnAbort<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  let giveUp: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    giveUp = () => {
      reject(new Error('no address yet', { cause: signal.reason }));
    };
    signal.addEventListener('abort', giveUp);
    if (signal.aborted) giveUp();
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

/** A look-up that answers with these addresses alone. */
export function pinLookup(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_hostname, options, found) => {
    const [first] = all;
    if (options.all === true) found(null, all);
    else found(null, first?.address ?? '', first?.family);
  };
}
