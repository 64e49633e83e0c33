import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Repository } from '../../core/address/skill-address.js';
import { fetchFailure, refusal } from './git-failure.js';
import { createGitObjects, type GitObjects } from './git-objects.js';
import { type GitEnd, type GitProcess, feedGit, questionGit, startGit } from './git-process.js';
import { gitEnvironment, gitSettings, protocolOf } from './git-settings.js';

export interface Tip {
  commit: string;
  /** The root folder's id. */
  tree: string;
  /** The commit and its folders. Files are there only if the server could not leave them out. */
  objects: GitObjects;
}

/** A repository elsewhere. Parts of it are fetched into bare repositories here, so none of its paths becomes a path
 *  on this machine. */
export interface GitRepository {
  /** The commit of a branch or a tag, as the server lists it. Null: the server lists no such branch and no such tag. */
  head(ref: string | undefined): Promise<string | null>;
  tip(ref: string | undefined): Promise<Tip>;
  /** Objects of these ids with everything below them. A file larger than `maxFileBytes` is left out unless its own
   *  id is listed. */
  objects(ids: readonly string[], maxFileBytes: number): Promise<GitObjects>;
  close(): Promise<void>;
}

export interface GitRepositoryOptions {
  repository: Repository;
  addresses: readonly string[];
  folder: string;
  /** Where to look for the git executable. */
  path: string;
  signal: AbortSignal;
}

const FETCHED = 'refs/unstuck/skill';

/** A repository's own settings decide whether its server can leave files out. For a local repository we set them. */
const LOCAL_UPLOAD_PACK = 'git -c uploadpack.allowFilter=true upload-pack';

export function createGitRepository(options: GitRepositoryOptions): GitRepository {
  const { repository, addresses, folder, path, signal } = options;
  const url = repository.kind === 'local' ? `file://${repository.path}` : repository.url;
  const fetching = gitEnvironment(folder, path, protocolOf(repository));
  const reading = gitEnvironment(folder, path, 'none');
  const readers: GitProcess[] = [];
  let count = 0;

  async function emptyRepository(): Promise<string> {
    count += 1;
    const bare = join(folder, String(count));
    await mkdir(join(bare, 'objects'), { recursive: true });
    await mkdir(join(bare, 'refs'));
    await writeFile(join(bare, 'HEAD'), 'ref: refs/heads/none\n');
    await configure(bare);
    return bare;
  }

  function fetch(bare: string, args: readonly string[], wanted: readonly string[]): Promise<GitEnd> {
    const all = [
      ...[`--git-dir=${bare}`, ...gitSettings(repository, addresses), 'fetch', '--quiet', '--no-progress', '--no-tags'],
      ...['--no-write-fetch-head', '--no-recurse-submodules', ...args],
      ...(repository.kind === 'local' ? [`--upload-pack=${LOCAL_UPLOAD_PACK}`] : []),
      ...['--stdin', '--', url],
    ];
    return feedGit({ args: all, env: fetching, cwd: folder, signal }, wanted.map((each) => `${each}\n`).join(''));
  }

  async function read(bare: string): Promise<GitObjects> {
    // Removes the server's address, because git would fetch missing files from it by itself.
    await configure(bare);
    const args = [`--git-dir=${bare}`, ...gitSettings(repository, addresses), 'cat-file', '--batch-command'];
    const reader = startGit({ args, env: reading, cwd: folder, signal });
    readers.push(reader);
    return createGitObjects(reader);
  }

  return {
    async head(ref) {
      const bare = await emptyRepository();
      const names = namesOf(ref);
      const args = ['ls-remote', '--quiet', '--', url, ...names.flatMap((name) => [name, `${name}^{}`])];
      const all = [`--git-dir=${bare}`, ...gitSettings(repository, addresses), ...args];
      const { isDone, said, printed } = await questionGit({ args: all, env: fetching, cwd: folder, signal });
      if (!isDone) throw fetchFailure(said);
      return commitIn(printed, names);
    },
    async tip(ref) {
      const bare = await emptyRepository();
      for (const name of namesOf(ref)) {
        const { isDone, said } = await fetch(bare, ['--depth=1', '--filter=blob:none'], [`${name}:${FETCHED}`]);
        if (isDone) return await tipOf(await read(bare));
        if (!/^fatal: couldn't find remote ref refs\//m.test(said)) throw fetchFailure(said);
      }
      throw refusal('ref', 'names no branch and no tag of the repository; leave it out to take the default branch');
    },
    async objects(ids, maxFileBytes) {
      const bare = await emptyRepository();
      const { isDone, said } = await fetch(bare, [`--filter=blob:limit=${maxFileBytes + 1}`], ids);
      if (!isDone) throw fetchFailure(said);
      return await read(bare);
    },
    async close() {
      for (const { end } of readers) end();
      await Promise.all(readers.map(({ ended }) => ended));
    },
  };
}

/** Full names, because a short name might match a pull request, which anybody can open. */
function namesOf(ref: string | undefined): string[] {
  return ref === undefined ? ['HEAD'] : [`refs/heads/${ref}`, `refs/tags/${ref}`];
}

/** The commit of the first name that the server lists. An annotated tag has an id of its own, and its commit stands behind
 *  `^{}`. */
function commitIn(listed: string, names: readonly string[]): string | null {
  const ids = new Map<string, string>();
  for (const line of listed.split('\n')) {
    const [, id, name] = /^([0-9a-f]{40,64})\t(\S+)$/.exec(line) ?? [];
    if (id !== undefined && name !== undefined) ids.set(name, id);
  }
  const found = names.find((name) => ids.has(name));
  return found === undefined ? null : (ids.get(`${found}^{}`) ?? ids.get(found) ?? null);
}

async function tipOf(objects: GitObjects): Promise<Tip> {
  const commit = await objects.find(`${FETCHED}^{commit}`);
  const tree = await objects.find(`${FETCHED}^{tree}`);
  if (commit && tree) return { commit: commit.id, tree: tree.id, objects };
  throw refusal('ref', 'names a tag that is not of a commit; name a branch or another tag');
}

async function configure(bare: string): Promise<void> {
  await writeFile(join(bare, 'config'), '[core]\n\trepositoryformatversion = 0\n\tbare = true\n');
}
