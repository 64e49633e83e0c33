import { createHash } from 'node:crypto';
import type { AppError } from '../../../../core/errors.js';
import type { CheckedAddress } from '../../core/address/skill-address.js';
import { byPath, contentParts } from '../../core/text/skill-content.js';
import type { Skill, SkillFile, SkillSource } from '../../ports/skill.js';
import { findSkillFolder } from './find-skill-folder.js';
import { refusal, showName } from './git-failure.js';
import type { GitObjects } from './git-objects.js';
import type { GitRepository } from './git-repository.js';
import { listFiles, type ListedFile, MAX_FILES } from './skill-files.js';
import { createFolders, type SkillFolder } from './skill-folder.js';
import { createWithRepository, type RepositoryOptions } from './with-repository.js';

const MAX_SKILL_BYTES = 512_000;

export interface GitSkillSourceOptions extends RepositoryOptions {
  /** Of one skill. */
  maxBytes?: number;
  maxFiles?: number;
}

/** Fetches with the git program, which trusts nobody: git-settings.ts and git-process.ts say what it may do. */
export function createGitSkillSource(options: GitSkillSourceOptions): SkillSource {
  const withRepository = createWithRepository(options);
  const limits = { maxBytes: options.maxBytes ?? MAX_SKILL_BYTES, maxFiles: options.maxFiles ?? MAX_FILES };
  return {
    fetch: (address, signal) =>
      withRepository(address, signal, (repository, checked) => loadSkill(repository, checked, limits)),
  };
}

interface SkillLimits {
  maxBytes: number;
  maxFiles: number;
}

async function loadSkill(
  repository: GitRepository,
  address: CheckedAddress,
  { maxBytes, maxFiles }: SkillLimits,
): Promise<Skill> {
  const tip = await repository.tip(address.ref);
  const folders = createFolders(tip.objects);
  const folder = await findSkillFolder({ repository, tip, folders, address });
  const listed = await listFiles(folders, folder, maxFiles);
  const objects = await withFiles(repository, { present: tip.objects, folder, listed, maxBytes });
  await assertSize(objects, listed, maxBytes);
  const files: SkillFile[] = [];
  for (const { path, id, isExecutable } of listed.toSorted(byPath)) {
    files.push({ path, bytes: await objects.read(id), isExecutable });
  }
  return { files, contentHash: contentHashOf(files), commit: tip.commit };
}

/** Fetches the files, unless they are there already: some servers can't leave files out of the first fetch. */
async function withFiles(
  repository: GitRepository,
  wanted: { present: GitObjects; folder: SkillFolder; listed: readonly ListedFile[]; maxBytes: number },
): Promise<GitObjects> {
  const { present, folder, listed, maxBytes } = wanted;
  for (const { id } of listed) {
    if ((await present.find(id)) === null) return await repository.objects([folder.id], maxBytes);
  }
  return present;
}

/** Checks sizes before any file is read. A file that the server left out is larger than the limit for the whole
 *  skill. */
async function assertSize(objects: GitObjects, listed: readonly ListedFile[], maxBytes: number): Promise<void> {
  let bytes = 0;
  for (const { path, id } of listed) {
    const size = (await objects.find(id))?.bytes ?? Number.POSITIVE_INFINITY;
    bytes += size;
    if (size > maxBytes) throw tooLargeRefusal(maxBytes, `a file that is larger: ${showName(path)}`);
  }
  if (bytes > maxBytes) throw tooLargeRefusal(maxBytes, `${Math.ceil(bytes / 1_024)} KB`);
}

function tooLargeRefusal(maxBytes: number, what: string): AppError {
  return refusal(
    'skillPath',
    `leads to a folder that may hold ${maxBytes / 1_024} KB and has ${what}; remove what the skill does not need`,
  );
}

function contentHashOf(files: readonly SkillFile[]): string {
  const hash = createHash('sha256');
  for (const part of contentParts(files)) hash.update(part);
  return hash.digest('hex');
}
