import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import type { AppError } from '../../../../core/errors.js';
import { isAppError } from '../../../../core/errors.js';
import { runWithinTime } from '../../../../ports/within-time.js';
import {
  type AddressRules,
  checkAddress,
  type CheckedAddress,
  type Repository,
} from '../../core/address/skill-address.js';
import { byPath, contentParts } from '../../core/text/skill-content.js';
import type { Skill, SkillFile, SkillSource } from '../../ports/skill.js';
import { findSkillFolder } from './find-skill-folder.js';
import { refusal, showName, unavailable } from './git-failure.js';
import type { GitObjects } from './git-objects.js';
import { createGitRepository, type GitRepository } from './git-repository.js';
import { gitVersion, USUAL_PATH } from './git-version.js';
import { resolveHost, type Resolve, resolveName, abandonOnAbort } from '../../../../adapters/host-addresses.js';
import { isPublicAddress } from '../../../../adapters/public-address.js';
import { listFiles, type ListedFile } from './skill-files.js';
import { createFolders, type SkillFolder } from './skill-folder.js';
import { withTemporaryFolder, removeAbandoned } from '../../../../adapters/temporary-folder.js';

export interface GitSkillSourceOptions extends AddressRules {
  /** The folders to search for git, with colons between them. */
  path?: string;
  /** For one whole fetch. */
  timeoutMs?: number;
  temporaryFolder?: string;
  /** The system's resolver by default. */
  resolve?: Resolve;
}

const TIMEOUT_MS = 60_000;
export const MAX_SKILL_BYTES = 512_000;

/** Fetches with the git program, which trusts nobody: git-settings.ts and git-process.ts say what it may do. */
export function createGitSkillSource(options: GitSkillSourceOptions): SkillSource {
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

  return {
    async fetch(given, outerSignal) {
      const address = checkAddress(given, options);
      return await runWithinTime({ signal: outerSignal, timeoutMs }, (signal) =>
        fetchSkill(address, signal).catch((error: unknown) => {
          throw signal.aborted ? stopFailureOf(error, outerSignal, timeoutMs) : error;
        }),
      );
    },
  };

  async function fetchSkill(address: CheckedAddress, signal: AbortSignal): Promise<Skill> {
    await prepare();
    const addresses = await resolvePublic(address.repository, { ...options, resolve }, signal);
    return await withTemporaryFolder(temporaryFolder, async (folder) => {
      const repository = createGitRepository({ repository: address.repository, addresses, folder, path, signal });
      return await loadSkill(repository, address).finally(() => repository.close());
    });
  }
}

/** After an abort the error says only where git was cut off. A fault of the owner's is kept, unless the caller
 *  stopped the fetch. */
function stopFailureOf(error: unknown, outerSignal: AbortSignal, timeoutMs: number): AppError {
  if (isAppError(error) && error.kind === 'invalid' && !outerSignal.aborted) return error;
  const why = outerSignal.aborted ? 'was stopped' : `took longer than ${timeoutMs / 1_000} s`;
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

async function loadSkill(repository: GitRepository, address: CheckedAddress): Promise<Skill> {
  const tip = await repository.tip(address.ref);
  const folders = createFolders(tip.objects);
  const folder = await findSkillFolder({ repository, tip, folders, address });
  const listed = await listFiles(folders, folder);
  const objects = await withFiles(repository, { present: tip.objects, folder, listed });
  await assertSize(objects, listed);
  const files: SkillFile[] = [];
  for (const { path, id, isExecutable } of listed.toSorted(byPath)) {
    files.push({ path, bytes: await objects.read(id), isExecutable });
  }
  return { files, contentHash: contentHashOf(files), commit: tip.commit };
}

/** Fetches the files, unless they are there already: some servers can't leave files out of the first fetch. */
async function withFiles(
  repository: GitRepository,
  { present, folder, listed }: { present: GitObjects; folder: SkillFolder; listed: readonly ListedFile[] },
): Promise<GitObjects> {
  for (const { id } of listed) {
    if ((await present.find(id)) === null) return await repository.objects([folder.id], MAX_SKILL_BYTES);
  }
  return present;
}

/** Checks sizes before any file is read. A file that the server left out is larger than the limit for the whole
 *  skill. */
async function assertSize(objects: GitObjects, listed: readonly ListedFile[]): Promise<void> {
  let bytes = 0;
  for (const { path, id } of listed) {
    const size = (await objects.find(id))?.bytes ?? Number.POSITIVE_INFINITY;
    bytes += size;
    if (size > MAX_SKILL_BYTES) throw tooLargeRefusal(`a file that is larger: ${showName(path)}`);
  }
  if (bytes > MAX_SKILL_BYTES) throw tooLargeRefusal(`${Math.ceil(bytes / 1_024)} KB`);
}

function tooLargeRefusal(what: string): AppError {
  return refusal(
    'skillPath',
    `leads to a folder that may hold ${MAX_SKILL_BYTES / 1_024} KB and has ${what}; remove what the skill does not need`,
  );
}

function contentHashOf(files: readonly SkillFile[]): string {
  const hash = createHash('sha256');
  for (const part of contentParts(files)) hash.update(part);
  return hash.digest('hex');
}
