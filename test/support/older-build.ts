import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { projectRoot } from '../../src/config.js';

/** An older commit, built by its own scripts in a folder of its own. */
export interface OlderBuild {
  root: string;
  /** The whole id of the commit. */
  commit: string;
  /** The version that its processes report. It names the commit, because two commits may carry the same number. */
  version: string;
  remove(): void;
}

/** The commit can't be had here, for this reason. */
export interface Skipped {
  skipped: string;
}

/** Checks out and builds a commit; `say` is told of each step, since a build takes a minute or more. */
export async function buildOlder(name: string, say: (line: string) => void): Promise<OlderBuild | Skipped> {
  const found = findCommit(name);
  if ('skipped' in found) return found;
  const { commit } = found;
  // In the data folder, which git and the linters ignore.
  const data = join(projectRoot, '.unstuck');
  mkdirSync(data, { recursive: true, mode: 0o700 });
  const folder = mkdtempSync(join(data, 'older-'));
  const root = join(folder, 'tree');
  function remove(): void {
    process.off('exit', remove);
    rmSync(folder, { recursive: true, force: true });
    git(['worktree', 'prune']);
  }
  process.once('exit', remove);
  try {
    say(`checking out ${commit.slice(0, 7)}`);
    git(['worktree', 'add', '--detach', '--force', root, commit]);
    linkDependencies(root);
    await setUp(root, say);
    return { root, commit, version: markVersion(root, commit), remove };
  } catch (error) {
    remove();
    throw error;
  }
}

/** The whole id of a commit that this clone holds, or why it holds none. */
export function findCommit(name: string, root = projectRoot): { commit: string } | Skipped {
  try {
    git(['rev-parse', '--git-dir'], root);
  } catch {
    return { skipped: 'these sources are no git clone, so there is no older commit to build' };
  }
  try {
    return { commit: git(['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`], root).trim() };
  } catch {
    const isShallow = git(['rev-parse', '--is-shallow-repository'], root).trim() === 'true';
    const why = isShallow ? ', because the clone is shallow: run git fetch --unshallow' : '';
    return { skipped: `this clone does not know the commit '${name}'${why}` };
  }
}

/** Where the lock files agree the packages of the present tree serve the older one, each by a link. A link of the whole folder
 *  would not do: set-up keeps in there what it has built from. Otherwise the older set-up installs for itself. */
function linkDependencies(root: string): void {
  if (!isDeepStrictEqual(lockedIn(root), lockedIn(projectRoot))) return;
  const [from, to] = [join(projectRoot, 'node_modules'), join(root, 'node_modules')];
  mkdirSync(to);
  for (const name of readdirSync(from)) {
    if (!name.startsWith('.') || name === '.bin') symlinkSync(join(from, name), join(to, name));
  }
  const installed = '.package-lock.json';
  if (existsSync(join(from, installed))) copyFileSync(join(from, installed), join(to, installed));
}

/** The packages that a lock file wants, without the entry of the product itself. */
function lockedIn(root: string): object {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, object>;
  };
  return Object.fromEntries(Object.entries(packages).filter(([path]) => path !== ''));
}

async function setUp(root: string, say: (line: string) => void): Promise<void> {
  const child = spawn(process.execPath, [join(root, 'scripts', 'setup.mjs')], { cwd: root });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
      say(chunk.trimEnd());
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`the older commit could not be built:\n${output}`);
}

function markVersion(root: string, commit: string): string {
  const file = join(root, 'package.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
  const version = `${manifest.version}-${commit.slice(0, 7)}`;
  writeFileSync(file, JSON.stringify({ ...manifest, version }, null, 2));
  return version;
}

function git(args: readonly string[], cwd = projectRoot): string {
  return execFileSync('git', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
