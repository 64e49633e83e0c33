import { tmpdir } from 'node:os';
import type { AppError } from '../../../../core/errors.js';
import { isAppError } from '../../../../core/errors.js';
import { runWithinTime } from '../../../../ports/within-time.js';
import {
  type AddressRules,
  checkAddress,
  type CheckedAddress,
  type GivenAddress,
  type Repository,
} from '../../core/address/skill-address.js';
import { refusal, unavailable } from './git-failure.js';
import { createGitRepository, type GitRepository } from './git-repository.js';
import { gitVersion, USUAL_PATH } from './git-version.js';
import { resolveHost, type Resolve, resolveName, abandonOnAbort } from '../../../../adapters/host-addresses.js';
import { isPublicAddress } from '../../../../adapters/public-address.js';
import { withTemporaryFolder, removeAbandoned } from '../../../../adapters/temporary-folder.js';

export interface RepositoryOptions extends AddressRules {
  /** The folders to search for git, with colons between them. */
  path?: string;
  /** For all work with one repository. */
  timeoutMs?: number;
  temporaryFolder?: string;
  /** The system's resolver by default. */
  resolve?: Resolve;
}

type Work<T> = (repository: GitRepository, address: CheckedAddress) => Promise<T>;

const TIMEOUT_MS = 60_000;

/** Opens repositories whose address was checked, at addresses that were checked, and closes each after the work. */
export function createWithRepository(options: RepositoryOptions) {
  const { path = USUAL_PATH, timeoutMs = TIMEOUT_MS, temporaryFolder = tmpdir(), resolve = resolveName } = options;
  let ready: Promise<void> | undefined;

  /** Runs once, and again after a failure, because an operator may have put the fault right. */
  async function prepare(): Promise<void> {
    ready ??= Promise.all([gitVersion(path, temporaryFolder), removeAbandoned(temporaryFolder, Date.now())]).then(
      () => undefined,
    );
    await ready.catch((error: unknown) => {
      ready = undefined;
      throw error;
    });
  }

  async function open<T>(address: CheckedAddress, signal: AbortSignal, work: Work<T>): Promise<T> {
    await prepare();
    const addresses = await resolvePublic(address.repository, { ...options, resolve }, signal);
    return await withTemporaryFolder(temporaryFolder, async (folder) => {
      const repository = createGitRepository({ repository: address.repository, addresses, folder, path, signal });
      return await work(repository, address).finally(() => repository.close());
    });
  }

  return async <T>(given: GivenAddress, outerSignal: AbortSignal | undefined, work: Work<T>): Promise<T> => {
    const address = checkAddress(given, options);
    return await runWithinTime({ signal: outerSignal, timeoutMs }, (signal) =>
      open(address, signal, work).catch((error: unknown) => {
        throw signal.aborted ? stopFailureOf(error, outerSignal, timeoutMs) : error;
      }),
    );
  };
}

/** After an abort the error says only where git was cut off. A fault of the owner's is kept, unless the caller
 *  stopped the fetch. */
function stopFailureOf(error: unknown, outerSignal: AbortSignal | undefined, timeoutMs: number): AppError {
  if (isAppError(error) && error.kind === 'invalid' && !outerSignal?.aborted) return error;
  const why = outerSignal?.aborted ? 'was stopped' : `took longer than ${timeoutMs / 1_000} s`;
  return unavailable(`fetching the repository ${why}; it is worth another try`, error);
}

/** Every address of the host. One private address is enough for a refusal, because chance decides which address is
 *  used. */
async function resolvePublic(
  repository: Repository,
  { allowPrivate, resolve }: { allowPrivate: boolean; resolve: Resolve },
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (repository.kind === 'local') return [];
  const { hostname } = repository;
  const addresses = await abandonOnAbort(signal, resolveHost(hostname, resolve)).catch((error: unknown) => {
    throw unavailable(error instanceof Error ? error.message : `${hostname} could not be resolved`, error);
  });
  const bad = allowPrivate ? undefined : addresses.find((address) => !isPublicAddress(address));
  if (bad === undefined) return addresses;
  throw refusal(
    'repoUrl',
    `names ${hostname}, which is ${bad} and not a public address; this server does not allow those`,
  );
}
