import { createHash } from 'node:crypto';
import type { AppError } from '../../../../core/errors.js';
import type { CheckedAddress } from '../../core/address/skill-address.js';
import { byPath, contentParts } from '../../core/text/skill-content.js';
import type { Skill, SkillFile, SkillSource } from '../../ports/skill.js';
import { findSkillFolder } from './find-skill-folder.js';
import { refusal, showName } from './git-failure.js';
import type { GitObjects } from './git-objects.js';
import type { GitRepository } from './git-repository.js';
import { listFiles, type ListedFile } from './skill-files.js';
import { createFolders, type SkillFolder } from './skill-folder.js';
import { createWithRepository, type RepositoryOptions } from './with-repository.js';

export const MAX_SKILL_BYTES = 512_000;

export type GitSkillSourceOptions = RepositoryOptions;

/** Fetches with the git program, which trusts nobody: git-settings.ts and git-process.ts say what it may do. */
export function createGitSkillSource(options: GitSkillSourceOptions): SkillSource {
  const withRepository = createWithRepository(options);
  return { fetch: (address, signal) => withRepository(address, signal, loadSkill) };
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
