import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import type { AppError } from '../../../../core/errors.js';
import { isAppError } from '../../../../core/errors.js';
import {
  type AddressRules,
  checkedAddress,
  type CheckedAddress,
  type Repository,
} from '../../core/address/skill-address.js';
import { byPath, contentParts } from '../../core/text/skill-content.js';
import type { Skill, SkillFile, SkillSource } from '../../ports/skill.js';
import { findSkill } from './find-skill-folder.js';
import { refusal, shown, unavailable } from './git-failure.js';
import type { GitObjects } from './git-objects.js';
import { createGitRepository, type GitRepository } from './git-repository.js';
import { gitVersion, USUAL_PATH } from './git-version.js';
import { addressesOf, type Resolve, resolveName, unlessAborted } from '../../../../adapters/host-addresses.js';
import { isPublicAddress } from '../../../../adapters/public-address.js';
import { filesIn, type ListedFile } from './skill-files.js';
import { createFolders, type SkillFolder } from './skill-folder.js';
import { inTemporaryFolder, removeAbandoned } from '../../../../adapters/temporary-folder.js';

export interface GitSkillSourceOptions extends AddressRules {
  /** Folders where git is looked for, with colons between them. */
  path?: string;
  /** For the whole of one fetch. */
  timeoutMs?: number;
  temporaryFolder?: string;
  /** The system's own by default. */
  resolve?: Resolve;
}

const TIMEOUT_MS = 60_000;
const MAX_SKILL_BYTES = 512_000;

/** Fetches with the git program, which is told to trust nobody: see git-settings.ts and git-process.ts for what it may. */
export function createGitSkillSource(options: GitSkillSourceOptions): SkillSource {
  const { path = USUAL_PATH, timeoutMs = TIMEOUT_MS, temporaryFolder = tmpdir(), resolve = resolveName } = options;
  let ready: Promise<void> | undefined;

  /** Once, but again if it failed: somebody may have put it right. */
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
      const address = checkedAddress(given, options);
      return await withinTime(outerSignal, timeoutMs, async (signal) => {
        await prepare();
        const addresses = await checkedAddresses(address.repository, { ...options, resolve }, signal);
        return await inTemporaryFolder(temporaryFolder, async (folder) => {
          const repository = createGitRepository({ repository: address.repository, addresses, folder, path, signal });
          return await skillIn(repository, address).finally(() => repository.close());
        });
      });
    },
  };
}

/** With a timer of our own: a signal made by `AbortSignal.any` of one by `AbortSignal.timeout` may be collected as garbage while
 *  it is waited for, and then never comes. */
async function withinTime<T>(
  outerSignal: AbortSignal,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  function stop(): void {
    limit.abort();
  }
  const timer = setTimeout(stop, timeoutMs);
  outerSignal.addEventListener('abort', stop);
  if (outerSignal.aborted) stop();
  try {
    return await work(limit.signal);
  } catch (error) {
    throw limit.signal.aborted ? stopped(error, outerSignal, timeoutMs) : error;
  } finally {
    clearTimeout(timer);
    outerSignal.removeEventListener('abort', stop);
  }
}

/** An abort shows as whatever git was cut off in. */
function stopped(error: unknown, outerSignal: AbortSignal, timeoutMs: number): AppError {
  if (isAppError(error) && error.kind === 'invalid' && !outerSignal.aborted) return error;
  const why = outerSignal.aborted ? 'was stopped' : `took longer than ${String(timeoutMs / 1_000)} s`;
  return unavailable(`fetching the repository ${why}; it is worth another try`, error);
}

/** Every address that the name has now. One private one among them is enough: which of them is taken is chance. */
async function checkedAddresses(
  repository: Repository,
  { allowPrivate, resolve }: { allowPrivate: boolean; resolve: Resolve },
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (repository.kind === 'local') return [];
  const { hostname } = repository;
  const addresses = await unlessAborted(signal, addressesOf(hostname, resolve)).catch((error: unknown) => {
    throw unavailable(error instanceof Error ? error.message : `${hostname} could not be resolved`, error);
  });
  const bad = allowPrivate ? undefined : addresses.find((address) => !isPublicAddress(address));
  if (bad === undefined) return addresses;
  throw refusal(
    'repoUrl',
    `names ${hostname}, which is ${bad} and not a public address; this server does not allow those`,
  );
}

async function skillIn(repository: GitRepository, address: CheckedAddress): Promise<Skill> {
  const tip = await repository.tip(address.ref);
  const folders = createFolders(tip.objects);
  const folder = await findSkill({ repository, tip, folders, address });
  const listed = await filesIn(folders, folder);
  const objects = await withFiles(repository, { present: tip.objects, folder, listed });
  await assertSize(objects, listed);
  const files: SkillFile[] = [];
  for (const { path, id, isExecutable } of listed.toSorted(byPath)) {
    files.push({ path, bytes: await objects.read(id), isExecutable });
  }
  return { files, contentHash: contentHashOf(files), commit: tip.commit };
}

/** Servers that can't leave files out have sent them already. */
async function withFiles(
  repository: GitRepository,
  { present, folder, listed }: { present: GitObjects; folder: SkillFolder; listed: readonly ListedFile[] },
): Promise<GitObjects> {
  for (const { id } of listed) {
    if ((await present.find(id)) === null) return await repository.objects([folder.id], MAX_SKILL_BYTES);
  }
  return present;
}

/** Before anything is read. A file that the server left out is larger than all of them may be together. */
async function assertSize(objects: GitObjects, listed: readonly ListedFile[]): Promise<void> {
  let bytes = 0;
  for (const { path, id } of listed) {
    const size = (await objects.find(id))?.bytes ?? Number.POSITIVE_INFINITY;
    bytes += size;
    if (size > MAX_SKILL_BYTES) throw tooLarge(`a file that is larger: ${shown(path)}`);
  }
  if (bytes > MAX_SKILL_BYTES) throw tooLarge(`${String(Math.ceil(bytes / 1_024))} KB`);
}

function tooLarge(what: string): AppError {
  return refusal(
    'skillPath',
    `leads to a folder that may hold ${String(MAX_SKILL_BYTES / 1_024)} KB and has ${what}; remove what the skill does not need`,
  );
}

function contentHashOf(files: readonly SkillFile[]): string {
  const hash = createHash('sha256');
  for (const part of contentParts(files)) hash.update(part);
  return hash.digest('hex');
}
