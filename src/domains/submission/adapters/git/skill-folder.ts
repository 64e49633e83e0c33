import { frontMatterText } from '../../core/text/front-matter.js';
import { refusal, shown } from './git-failure.js';
import { entriesOf, type GitObjects, type TreeEntry } from './git-objects.js';

export interface SkillFolder {
  /** '' is the repository's root. */
  path: string;
  id: string;
}

export interface Candidate extends SkillFolder {
  name: string;
  skillFile: string;
}

/** Folders of a repository that are looked through, and bytes of their lists: a hundred thousand files, and no more. */
const MAX_FOLDERS = 20_000;
const MAX_LIST_BYTES = 16 * 1_024 * 1_024;

/** Deeper than anything that people make by hand. */
export const MAX_DEPTH = 40;

/** As many as a sentence holds. */
const MAX_LISTED = 10;

const SKILL_FILE = 'SKILL.md';
const IS_A_LINK = 'is a symbolic link, which is not followed; put the file itself in its place';

export type Folders = (id: string) => Promise<TreeEntry[]>;

/** Lists folders by id, within limits for all of them together. */
export function createFolders(objects: GitObjects): Folders {
  let folders = 0;
  let bytes = 0;
  return async (id) => {
    folders += 1;
    bytes += (await objects.find(id))?.bytes ?? 0;
    if (folders > MAX_FOLDERS || bytes > MAX_LIST_BYTES) {
      throw refusal(
        'skillPath',
        "is needed: the repository has too many folders to look for the skill; give the skill's own",
      );
    }
    return entriesOf(await objects.read(id));
  };
}

/** The folder of a whole repository, which goes by the repository's name. */
export interface Root {
  root: string;
  rootName: string;
}

export async function folderAt(folders: Folders, { root, rootName }: Root, path: string): Promise<Candidate> {
  let id = root;
  let name = rootName;
  for (const part of path === '' ? [] : path.split('/')) {
    const entry = (await folders(id)).find(({ name, isPlain }) => isPlain && name === part);
    if (entry?.kind === 'symlink' || entry?.kind === 'submodule') {
      const what = entry.kind === 'symlink' ? 'a symbolic link' : 'a submodule';
      throw refusal(
        'skillPath',
        `passes through ${what} (${shown(part)}); give the folder that holds the files themselves`,
      );
    }
    if (entry?.kind !== 'folder')
      throw refusal('skillPath', `names a folder that is not in the repository: ${shown(path)}`);
    ({ id, name } = entry);
  }
  const entries = await folders(id);
  const skillFile = skillFileIn(entries);
  if (skillFile === undefined) {
    if (hasLinkedFile(entries)) throw refusal('skillPath', `names a folder whose ${SKILL_FILE} ${IS_A_LINK}`);
    throw refusal('skillPath', `names a folder without a ${SKILL_FILE}; give the folder that has one`);
  }
  return { path, id, name, skillFile };
}

/** What a repository has: skills, and folders whose SKILL.md is a link, which might lead anywhere. */
export interface Candidates {
  found: Candidate[];
  linked: { path: string; name: string }[];
}

/** All folders with a SKILL.md, the shallowest first. A folder is looked at once for each name it goes by: copies of it are the
 *  same content, and a repository of folders within folders within folders does not blow up. */
export async function candidatesIn(folders: Folders, { root, rootName }: Root): Promise<Candidates> {
  const [found, linked]: [Candidate[], Candidates['linked']] = [[], []];
  const seen = new Set<string>();
  let level = [{ path: '', name: rootName, id: root }];
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth += 1) {
    const below: typeof level = [];
    for (const { path, name, id } of level) {
      const key = `${id} ${name}`;
      if (seen.has(key)) continue;
      seen.add(key);
      const entries = await folders(id);
      const skillFile = skillFileIn(entries);
      if (skillFile !== undefined) found.push({ path, name, id, skillFile });
      else if (hasLinkedFile(entries)) linked.push({ path, name });
      const within = entries.filter(({ kind, isPlain }) => kind === 'folder' && isPlain);
      below.push(...within.map((entry) => ({ path: joined(path, entry.name), name: entry.name, id: entry.id })));
    }
    level = below;
  }
  return { found, linked };
}

function skillFileIn(entries: readonly TreeEntry[]): string | undefined {
  return entries.find(({ kind, name }) => kind === 'file' && name === SKILL_FILE)?.id;
}

function hasLinkedFile(entries: readonly TreeEntry[]): boolean {
  return entries.some(({ kind, name }) => kind === 'symlink' && name === SKILL_FILE);
}

/** The only candidate that answers to the name; null if none does. */
export function onlyOne(answering: readonly Candidate[], skillName: string): SkillFolder | null {
  const [first, ...others] = answering;
  if (first === undefined) return null;
  if (others.every(({ id }) => id === first.id)) return first;
  throw refusal(
    'skillName',
    `${skillName} fits several folders: ${listed(answering)}; choose one of them with skillPath`,
  );
}

export function noneFits({ found, linked }: Candidates, skillName: string): Error {
  const link = linked.find(({ name }) => isNamed(name, skillName)) ?? (found.length === 0 ? linked[0] : undefined);
  if (link) return refusal('repoUrl', `names a repository whose ${shown(joined(link.path, SKILL_FILE))} ${IS_A_LINK}`);
  if (found.length === 0)
    return refusal('repoUrl', `names a repository without a ${SKILL_FILE}; add one to the skill's folder`);
  return refusal(
    'skillName',
    `${skillName} fits none of the skills in the repository: ${listed(found)}; correct it or give skillPath`,
  );
}

export function otherName(skillName: string, { path }: SkillFolder): Error {
  const where = path === '' ? "the repository's root" : shown(path);
  return refusal(
    'skillName',
    `${skillName} is neither the name of the folder at skillPath (${where}) nor the one in its ${SKILL_FILE}; correct it`,
  );
}

function listed(candidates: readonly Candidate[]): string {
  const paths = candidates.slice(0, MAX_LISTED).map(({ path }) => (path === '' ? '. (the root)' : shown(path)));
  const more = candidates.length - paths.length;
  return paths.join(', ') + (more > 0 ? ` and ${String(more)} more` : '');
}

/** Names in front matter and of folders are compared without regard to case: people do. */
export function isNamed(name: string, skillName: string): boolean {
  return name.toLowerCase() === skillName.toLowerCase();
}

export function nameInside(skillFile: Buffer): string {
  return frontMatterText(skillFile.toString('utf8'), 'name');
}

export function joined(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}
