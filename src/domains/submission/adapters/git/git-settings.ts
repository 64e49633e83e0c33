import { isIPv6 } from 'node:net';
import type { Repository } from '../../core/address/skill-address.js';

/** The whole environment of a git that must know nothing of this machine: no settings of its owner or system, no credentials, no
 *  agent, no proxy, nobody to ask for a password. */
export function gitEnvironment(home: string, path: string, protocol: string): Record<string, string> {
  return {
    PATH: path,
    HOME: home,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'false',
    GIT_ALLOW_PROTOCOL: protocol,
    GIT_NO_REPLACE_OBJECTS: '1',
    // Known to newer versions only; for older ones no server is named where objects are read.
    GIT_NO_LAZY_FETCH: '1',
  };
}

const SETTINGS = [
  'protocol.allow=never',
  'protocol.version=2',
  // A redirect could lead to another owner, to another host or into our own network.
  'http.followRedirects=false',
  'http.sslVerify=true',
  // Nothing at all for half a minute: the server hangs. Ours is the limit for the whole; this one needs nobody alive.
  'http.lowSpeedLimit=1',
  'http.lowSpeedTime=30',
  // Packs from addresses that the server names.
  'transfer.bundleURI=false',
  'credential.helper=',
  'core.hooksPath=/dev/null',
  'core.attributesFile=/dev/null',
  'core.symlinks=false',
  'core.fsmonitor=false',
  'submodule.recurse=false',
  'fetch.recurseSubmodules=false',
  // Keeps a pack as it came, so that the limit for a file is one for the whole.
  'fetch.unpackLimit=1',
  // Larger objects pass through in pieces, not through memory.
  'core.bigFileThreshold=1m',
  'core.packedGitLimit=64m',
  'core.deltaBaseCacheLimit=16m',
  'pack.threads=1',
  'gc.auto=0',
  'maintenance.auto=false',
  'fetch.writeCommitGraph=false',
];

/** `addresses`: those that were checked. git goes there and nowhere else, whatever the name leads to by then. */
export function gitSettings(repository: Repository, addresses: readonly string[]): string[] {
  const settings = [...SETTINGS, `protocol.${protocolOf(repository)}.allow=always`];
  if (repository.kind === 'remote') settings.push(pinnedTo(repository, addresses));
  return settings.flatMap((setting) => ['-c', setting]);
}

export function protocolOf(repository: Repository): string {
  return repository.kind === 'local' ? 'file' : repository.protocol;
}

function pinnedTo({ hostname, port }: { hostname: string; port: number }, addresses: readonly string[]): string {
  const to = addresses.map((address) => (isIPv6(address) ? `[${address}]` : address));
  return `http.curloptResolve=${hostname}:${String(port)}:${to.join(',')}`;
}
