import { execFile } from 'node:child_process';
import { realpathSync, statSync } from 'node:fs';
import { basename, relative, resolve, sep } from 'node:path';
import { promisify } from 'node:util';
import { StartError } from '../embedded/start-error.js';
import type { SubmitOptions } from '../../domains/submission/start/submit/submit-options.js';

/** What is submitted, as the API takes it. */
export interface Address {
  repoUrl: string;
  skillName: string;
  skillPath?: string;
  ref?: string;
}

/** A folder becomes its repository and the path in it; `say` hears what its owner should know. */
export async function addressOf(options: SubmitOptions, say: (line: string) => void): Promise<Address> {
  const { source, path, ref } = options;
  const given = { ...(path !== undefined && { skillPath: path }), ...(ref !== undefined && { ref }) };
  if (/^[a-z]+:\/\//i.test(source)) {
    return { repoUrl: source, skillName: options.skill ?? (nameIn(path ?? '') || nameIn(source)), ...given };
  }
  const folder = folderAt(source);
  const root = (await git(folder, 'rev-parse', '--show-toplevel')).trim();
  if ((await git(folder, 'status', '--porcelain', '--', '.')).trim() !== '') {
    say('What is not committed is not submitted: the repository has changes.');
  }
  const inside = relative(root, folder).split(sep).join('/');
  const skillPath = path ?? (inside === '' ? undefined : inside);
  return { repoUrl: root, skillName: options.skill ?? nameIn(folder), ...given, ...(skillPath && { skillPath }) };
}

function folderAt(source: string): string {
  const path = resolve(source);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return realpathSync(path);
  throw new StartError(
    `submit: ${path} is no folder; name one, or a repository like https://github.com/owner/repository.`,
  );
}

/** Empty where the path is a repository's root. */
function nameIn(path: string): string {
  const folder = path.replace(/\/+$/, '').replace(/(^|\/)SKILL\.md$/, '');
  return folder === '.' ? '' : basename(folder).replace(/\.git$/, '');
}

async function git(folder: string, ...args: string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('git', ['-C', folder, ...args]);
    return stdout;
  } catch (cause) {
    throw new StartError(
      `submit: ${folder} is in no git repository, or there is no git. Skills are fetched with git: run git init, git add and git commit there first.`,
      { cause },
    );
  }
}
