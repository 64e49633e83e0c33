import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The TypeScript files of src and test, by their path from the root. */
export type Tree = ReadonlyMap<string, string>;

/** The database client is written by Prisma, not by us; the output of git is 31,000 lines and more. */
const GENERATED = 'src/db/generated/';
const MAX_BYTES = 256 * 1024 * 1024;

/** The files as they are on disk, those that are not committed yet included. */
export function readWorkingTree(root: string): Tree {
  const listed = git(root, ['ls-files', '--cached', '--others', '--exclude-standard', '--', 'src', 'test']);
  const paths = listed.split('\n').filter((path) => isMeasured(path) && existsSync(join(root, path)));
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
}

/** The files of a commit, read from git's own store: no second folder is needed. */
export function readCommit(root: string, commit: string): Tree {
  const paths = git(root, ['ls-tree', '-r', '--name-only', commit, '--', 'src', 'test']).split('\n').filter(isMeasured);
  const asked = paths.map((path) => `${commit}:${path}\n`).join('');
  const answer = execFileSync('git', ['cat-file', '--batch'], { cwd: root, input: asked, maxBuffer: MAX_BYTES });
  const tree = new Map<string, string>();
  let at = 0;
  for (const path of paths) {
    // Each answer is "<id> blob <bytes>", a line break, the content, a line break.
    const headEnd = answer.indexOf('\n', at);
    const bytes = Number(answer.toString('utf8', at, headEnd).split(' ')[2]);
    tree.set(path, answer.toString('utf8', headEnd + 1, headEnd + 1 + bytes));
    at = headEnd + bytes + 2;
  }
  return tree;
}

/** Where the files of a commit are today: old path to present path. Git takes a file as moved when half of it is the same. */
export function readMoves(root: string, commit: string): ReadonlyMap<string, string> {
  const lines = git(root, ['diff', '-M50%', '-l0', '--diff-filter=R', '--name-status', commit, '--', 'src']).split(
    '\n',
  );
  return new Map(
    lines.filter(Boolean).map((line) => {
      const [, from = '', to = ''] = line.split('\t');
      return [from, to] as const;
    }),
  );
}

function isMeasured(path: string): boolean {
  return path.endsWith('.ts') && !path.startsWith(GENERATED);
}

function git(root: string, args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: MAX_BYTES });
}
