import { isIPv6 } from 'node:net';
import type { Repository } from '../../core/address/skill-address.js';

/** The whole environment of git, which must know nothing of this machine: no settings of its owner or system, no
 *  credentials, no agent, no proxy, no prompt for a password. */
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
    // Only newer versions of git know it. For older versions, the repository names no server while objects are read.
    GIT_NO_LAZY_FETCH: '1',
  };
}

const SETTINGS = [
  'protocol.allow=never',
  'protocol.version=2',
  // A redirect could lead to another owner, to another host or into our own network.
  'http.followRedirects=false',
  'http.sslVerify=true',
  // A server that sends nothing for half a minute hangs. Our own limit is for the whole fetch; this limit holds even if
  // our process is gone.
  'http.lowSpeedLimit=1',
  'http.lowSpeedTime=30',
  // No packs from other addresses that the server names.
  'transfer.bundleURI=false',
  'credential.helper=',
  'core.hooksPath=/dev/null',
  'core.attributesFile=/dev/null',
  'core.symlinks=false',
  'core.fsmonitor=false',
  'submodule.recurse=false',
  'fetch.recurseSubmodules=false',
  // Keeps a pack in one file, so that the limit for a file is a limit for the whole fetch.
  'fetch.unpackLimit=1',
  // Larger objects are streamed in pieces, and not held in memory.
  'core.bigFileThreshold=1m',
  'core.packedGitLimit=64m',
  'core.deltaBaseCacheLimit=16m',
  'pack.threads=1',
  'gc.auto=0',
  'maintenance.auto=false',
  'fetch.writeCommitGraph=false',
];

/** `addresses` were checked. git connects to them alone, even if the name has other addresses by then. */
export function gitSettings(repository: Repository, addresses: readonly string[]): string[] {
  const settings = [...SETTINGS, `protocol.${protocolOf(repository)}.allow=always`];
  if (repository.kind === 'remote') settings.push(pinSetting(repository, addresses));
  return settings.flatMap((setting) => ['-c', setting]);
}

export function protocolOf(repository: Repository): string {
  return repository.kind === 'local' ? 'file' : repository.protocol;
}

function pinSetting({ hostname, port }: { hostname: string; port: number }, addresses: readonly string[]): string {
  const to = addresses.map((address) => (isIPv6(address) ? `[${address}]` : address));
  return `http.curloptResolve=${hostname}:${port}:${to.join(',')}`;
}
