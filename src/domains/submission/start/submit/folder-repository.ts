import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { StartError } from '../../../../start/embedded/start-error.js';
import { gitEnvironment } from '../../adapters/git/git-settings.js';
import { USUAL_PATH } from '../../adapters/git/git-version.js';
import { GitStopped, runGit } from './run-git.js';

export interface FolderOptions {
  /** The temporary repositories are kept here, because a worker may fetch them again after this command has ended. */
  dataDir: string;
  /** The limits of a fetch, which would refuse a larger skill later. */
  limits: { maxBytes: number; maxFiles: number };
  /** Folders where git is looked for: by default the folders where a worker looks. */
  path?: string;
}

export interface FolderRepository {
  path: string;
  files: number;
}

/** The same content always gives the same commit, because author and date never change. */
const COMMIT = {
  GIT_AUTHOR_NAME: 'npm run submit',
  GIT_AUTHOR_EMAIL: 'submit@localhost',
  GIT_AUTHOR_DATE: '@0 +0000',
  GIT_COMMITTER_NAME: 'npm run submit',
  GIT_COMMITTER_EMAIL: 'submit@localhost',
  GIT_COMMITTER_DATE: '@0 +0000',
};

/** A list of 500 files is much shorter and takes milliseconds. A folder that needs more is no skill. */
const MAX_LIST_BYTES = 1_000_000;
const MAX_LIST_MS = 20_000;

/** Commits the files of a folder to a bare repository in DATA_DIR and changes nothing in the folder. A folder always gets the
 *  same repository: under another address, its next version would be published as the skill of a stranger. */
export async function commitFolder(folder: string, options: FolderOptions): Promise<FolderRepository> {
  const { dataDir, limits, path = USUAL_PATH } = options;
  const repository = repositoryOf(folder, dataDir);
  await mkdir(repository, { recursive: true, mode: 0o700 });
  const index = join(repository, `index-${randomUUID()}`);
  const env = {
    ...gitEnvironment(dataDir, path, 'none'),
    ...COMMIT,
    GIT_DIR: repository,
    GIT_WORK_TREE: folder,
    GIT_INDEX_FILE: index,
  };
  const git = (...args: string[]) => runGit({ folder, args, env });
  try {
    await runGit({
      folder,
      args: ['init', '--quiet', '--bare', '--template=', '--initial-branch=main', repository],
      env: gitEnvironment(dataDir, path, 'none'),
    });
    const files = await listFiles(folder, env, limits);
    await assertSmall(folder, files, limits);
    await git('add', '--all', '.');
    const tree = (await git('write-tree')).trim();
    const commit = (await git('commit-tree', '-m', 'The folder as it is', tree)).trim();
    await git('update-ref', 'refs/heads/main', commit);
    return { path: repository, files: files.length };
  } finally {
    await rm(index, { force: true });
  }
}

/** Throws a sentence that names the skills below the folder, if the folder itself is no skill. */
export async function assertSkillFolder(folder: string): Promise<void> {
  if (existsSync(join(folder, 'SKILL.md'))) return;
  const entries = await readdir(folder, { withFileTypes: true });
  const below = entries.filter((entry) => entry.isDirectory() && existsSync(join(folder, entry.name, 'SKILL.md')));
  const remedy =
    below.length === 0
      ? "Name the skill's own folder, or write a SKILL.md there."
      : `Name one of its folders that have one: ${below.map(({ name }) => name).join(', ')}.`;
  throw new StartError(`submit: ${folder} has no SKILL.md, so it is no skill. ${remedy}`);
}

/** Ends with the folder's name, because that is the name of a skill in the root of a repository. */
function repositoryOf(folder: string, dataDir: string): string {
  const key = createHash('sha256').update(folder).digest('hex').slice(0, 12);
  return join(dataDir, 'submitted-folders', key, basename(folder));
}

/** The files that git would commit: all files except the ones that a .gitignore of the folder names. */
async function listFiles(
  folder: string,
  env: Record<string, string>,
  { maxFiles }: FolderOptions['limits'],
): Promise<string[]> {
  const args = ['ls-files', '--others', '--exclude-standard', '-z'];
  try {
    const listed = await runGit({ folder, args, env, maxBytes: MAX_LIST_BYTES, timeoutMs: MAX_LIST_MS });
    return listed.split('\0').filter((path) => path !== '');
  } catch (error) {
    if (error instanceof GitStopped) throw tooLarge(folder, `more than ${maxFiles} files`, error);
    throw error;
  }
}

/** Checked before git reads and stores any file. */
async function assertSmall(
  folder: string,
  files: readonly string[],
  { maxBytes, maxFiles }: FolderOptions['limits'],
): Promise<void> {
  if (files.length > maxFiles) throw tooLarge(folder, `more than ${maxFiles} files`);
  let bytes = 0;
  for (const file of files) {
    // git lists a repository in the folder as a folder, and would commit a link to it in place of its files.
    if (file.endsWith('/')) {
      throw new StartError(
        `submit: ${join(folder, file)} is a git repository inside the skill, and its files would be left out. Remove its .git folder.`,
      );
    }
    bytes += (await lstat(join(folder, file))).size;
    if (bytes > maxBytes) throw tooLarge(folder, `more than ${maxBytes / 1_000} KB`);
  }
}

function tooLarge(folder: string, size: string, cause?: unknown): StartError {
  const remedy = 'Remove the files that the skill does not need, or name them in a .gitignore there.';
  return new StartError(`submit: ${folder} has ${size}, which is too much for a skill. ${remedy}`, { cause });
}
