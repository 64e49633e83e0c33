import { frontMatterText } from '../../core/text/front-matter.js';
import { refusal, showName } from './git-failure.js';
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

/** The most folders of a repository that are searched, and the most bytes of their lists: enough for a hundred
 *  thousand files. */
const MAX_FOLDERS = 20_000;
const MAX_LIST_BYTES = 16 * 1_024 * 1_024;

/** Nobody makes deeper folders by hand. */
export const MAX_DEPTH = 40;

/** As many paths as a sentence can hold. */
const MAX_LISTED = 10;

const SKILL_FILE = 'SKILL.md';
const IS_A_LINK = 'is a symbolic link, which is not followed; put the file itself in its place';

export type Folders = (id: string) => Promise<TreeEntry[]>;

/** Lists the entries of a folder by its id. The limits are for all folders together. */
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

/** The root folder of a repository, which has the repository's name. */
export interface Root {
  root: string;
  rootName: string;
}

export async function findFolder(folders: Folders, { root, rootName }: Root, path: string): Promise<Candidate> {
  let id = root;
  let name = rootName;
  for (const part of path === '' ? [] : path.split('/')) {
    const entry = (await folders(id)).find(({ name, isPlain }) => isPlain && name === part);
    if (entry?.kind === 'symlink' || entry?.kind === 'submodule') {
      const what = entry.kind === 'symlink' ? 'a symbolic link' : 'a submodule';
      throw refusal(
        'skillPath',
        `passes through ${what} (${showName(part)}); give the folder that holds the files themselves`,
      );
    }
    if (entry?.kind !== 'folder')
      throw refusal('skillPath', `names a folder that is not in the repository: ${showName(path)}`);
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

/** The skills of a repository, and the folders whose SKILL.md is a link, which might lead anywhere. */
export interface Candidates {
  found: Candidate[];
  linked: { path: string; name: string }[];
}

/** All folders with a SKILL.md, the shallowest first. A folder with the same id and name is searched once, because
 *  its copies have the same content. So a repository whose folders contain each other many times over does not blow
 *  up the search. */
export async function listCandidates(folders: Folders, { root, rootName }: Root): Promise<Candidates> {
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
      below.push(...within.map((entry) => ({ path: joinPath(path, entry.name), name: entry.name, id: entry.id })));
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

/** The only candidate with the name. Null: no candidate has it. */
export function pickOnly(answering: readonly Candidate[], skillName: string): SkillFolder | null {
  const [first, ...others] = answering;
  if (first === undefined) return null;
  if (others.every(({ id }) => id === first.id)) return first;
  throw refusal(
    'skillName',
    `${skillName} fits several folders: ${listPaths(answering)}; choose one of them with skillPath`,
  );
}

export function noMatchRefusal({ found, linked }: Candidates, skillName: string): Error {
  const link = linked.find(({ name }) => isNamed(name, skillName)) ?? (found.length === 0 ? linked[0] : undefined);
  if (link)
    return refusal('repoUrl', `names a repository whose ${showName(joinPath(link.path, SKILL_FILE))} ${IS_A_LINK}`);
  if (found.length === 0)
    return refusal('repoUrl', `names a repository without a ${SKILL_FILE}; add one to the skill's folder`);
  return refusal(
    'skillName',
    `${skillName} fits none of the skills in the repository: ${listPaths(found)}; correct it or give skillPath`,
  );
}

export function otherNameRefusal(skillName: string, { path }: SkillFolder): Error {
  const where = path === '' ? "the repository's root" : showName(path);
  return refusal(
    'skillName',
    `${skillName} is neither the name of the folder at skillPath (${where}) nor the one in its ${SKILL_FILE}; correct it`,
  );
}

function listPaths(candidates: readonly Candidate[]): string {
  const paths = candidates.slice(0, MAX_LISTED).map(({ path }) => (path === '' ? '. (the root)' : showName(path)));
  const more = candidates.length - paths.length;
  return paths.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Ignores case, because people do. */
export function isNamed(name: string, skillName: string): boolean {
  return name.toLowerCase() === skillName.toLowerCase();
}

export function readName(skillFile: Buffer): string {
  return frontMatterText(skillFile.toString('utf8'), 'name');
}

export function joinPath(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}
