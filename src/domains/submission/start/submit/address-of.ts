import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { StartError } from '../../../../start/embedded/start-error.js';
import { assertSkillFolder, commitFolder, type FolderOptions } from './folder-repository.js';
import { runGit } from './run-git.js';
import type { SubmitOptions } from './submit-options.js';

/** The address of a skill, as the API takes it. */
export interface Address {
  repoUrl: string;
  skillName: string;
  skillPath?: string;
  ref?: string;
}

export interface AddressOptions extends FolderOptions {
  /** Gets the lines that the owner of a folder should read. */
  say: (line: string) => void;
}

/** A URL stays as it is. A folder becomes a repository: its own, the repository around it if a branch is named, or a temporary one. */
export async function addressOf(options: SubmitOptions, { say, ...folders }: AddressOptions): Promise<Address> {
  const { source, path, ref } = options;
  const given = { ...(path !== undefined && { skillPath: path }), ...(ref !== undefined && { ref }) };
  if (/^[a-z]+:\/\//i.test(source)) {
    return { repoUrl: source, skillName: options.skill ?? (nameIn(path ?? '') || nameIn(source)), ...given };
  }
  const folder = folderAt(source);
  const skillName = options.skill ?? nameIn(folder);
  if (existsSync(join(folder, '.git')) || ref !== undefined) {
    const root = await committedRoot(folder, say);
    const inside = relative(root, folder).split(sep).join('/');
    const skillPath = path ?? (inside === '' ? undefined : inside);
    return { repoUrl: root, skillName, ...given, ...(skillPath && { skillPath }) };
  }
  // With --skill or --path the skill may be in a folder below. The worker that fetches it says if it is not there.
  if (options.skill === undefined && path === undefined) await assertSkillFolder(folder);
  const { path: repoUrl, files } = await commitFolder(folder, folders);
  const content = files === 1 ? 'its file' : `its ${files} files`;
  say(`${source} is no git repository of its own, so a temporary one was made of ${content}.`);
  return { repoUrl, skillName, ...given };
}

async function committedRoot(folder: string, say: (line: string) => void): Promise<string> {
  const root = (await runGit({ folder, args: ['rev-parse', '--show-toplevel'] })).trim();
  if ((await runGit({ folder, args: ['status', '--porcelain', '--', '.'] })).trim() !== '') {
    say('The repository has changes that are not committed. They are not submitted.');
  }
  return root;
}

function folderAt(source: string): string {
  const path = resolve(source);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) return realpathSync(path);
  if (found) {
    const named = basename(path) === 'SKILL.md' ? `: ${dirname(path)}` : ' that holds a SKILL.md.';
    throw new StartError(`submit: ${path} is no folder. Name the skill's folder${named}`);
  }
  throw new StartError(
    `submit: ${path} is no folder; name one, or a repository like https://github.com/owner/repository.`,
  );
}

/** Empty where the path is a repository's root. */
function nameIn(path: string): string {
  const folder = path.replace(/\/+$/, '').replace(/(^|\/)SKILL\.md$/, '');
  return folder === '.' ? '' : basename(folder).replace(/\.git$/, '');
}
