import type { CheckedAddress } from '../../core/address/skill-address.js';
import { MAX_READ_FILE_BYTES } from '../../core/text/skill-content.js';
import { refusal } from './git-failure.js';
import type { GitObjects } from './git-objects.js';
import type { GitRepository, Tip } from './git-repository.js';
import {
  type Candidate,
  listCandidates,
  findFolder,
  type Folders,
  isNamed,
  readName,
  noMatchRefusal,
  pickOnly,
  otherNameRefusal,
  type SkillFolder,
} from './skill-folder.js';

/** Bytes of SKILL.md files that are read to find the right one. With a skill of the largest size, a fetch reads a
 *  megabyte. */
const MAX_SEARCHED_BYTES = 512_000;
const MAX_SEARCHED_FILES = 200;

interface Search {
  repository: GitRepository;
  tip: Tip;
  folders: Folders;
  address: CheckedAddress;
}

/** Finds the folder by its name, or else by the name in its front matter. A path chooses the folder but not the
 *  skill's name, because a version must not be published under another skill's name. */
export async function findSkillFolder({ repository, tip, folders, address }: Search): Promise<SkillFolder> {
  const { skillName, skillPath } = address;
  const root = { root: tip.tree, rootName: repositoryName(address) };
  if (skillPath !== undefined) {
    const chosen = await findFolder(folders, root, skillPath);
    if (isNamed(chosen.name, skillName) || (await listNamedInside([chosen])).length > 0) return chosen;
    throw otherNameRefusal(skillName, chosen);
  }
  const candidates = await listCandidates(folders, root);
  const byFolder = candidates.found.filter(({ name }) => isNamed(name, skillName));
  const found = pickOnly(byFolder, skillName) ?? pickOnly(await listNamedInside(candidates.found), skillName);
  if (found) return found;
  throw noMatchRefusal(candidates, skillName);

  async function listNamedInside(all: readonly Candidate[]): Promise<Candidate[]> {
    if (all.length > MAX_SEARCHED_FILES) throw tooManyRefusal();
    const objects = await withSkillFiles(repository, tip.objects, all);
    const named: Candidate[] = [];
    let bytes = 0;
    for (const candidate of all) {
      const head = await objects.find(candidate.skillFile);
      if (head === null || head.bytes > MAX_READ_FILE_BYTES) continue;
      bytes += head.bytes;
      if (bytes > MAX_SEARCHED_BYTES) throw tooManyRefusal();
      if (isNamed(readName(await objects.read(candidate.skillFile)), skillName)) named.push(candidate);
    }
    return named;
  }
}

function tooManyRefusal(): Error {
  return refusal('skillPath', "is needed: no folder has the skill's name, and there are too many skills to look into");
}

async function withSkillFiles(
  repository: GitRepository,
  present: GitObjects,
  candidates: readonly Candidate[],
): Promise<GitObjects> {
  const ids = [...new Set(candidates.map(({ skillFile }) => skillFile))];
  for (const id of ids) {
    if ((await present.find(id)) === null) return await repository.objects(ids, MAX_READ_FILE_BYTES);
  }
  return present;
}

function repositoryName({ repository }: CheckedAddress): string {
  const whole = repository.kind === 'local' ? repository.path : repository.url;
  return whole.slice(whole.lastIndexOf('/') + 1).replace(/\.git$/, '');
}
