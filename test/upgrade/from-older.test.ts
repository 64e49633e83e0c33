import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readOptions, UsageError } from '../audit/command-options.js';
import { findCommit } from '../support/older-build.js';
import { OPTIONS } from './options.js';

/** No commit has this id. */
const UNKNOWN = '0123456789abcdef0123456789abcdef01234567';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'unstuck-older-test-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function git(cwd: string, ...args: string[]): string {
  const identity = ['-c', 'user.name=tester', '-c', 'user.email=tester@localhost'];
  return execFileSync('git', [...identity, ...args], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

/** A repository of two commits; answers with its folder and the id of the first one. */
function createRepository(name: string): { root: string; first: string } {
  const root = join(folder, name);
  mkdirSync(root);
  git(root, 'init', '--quiet');
  for (const title of ['first', 'second']) git(root, 'commit', '--quiet', '--allow-empty', '-m', title);
  return { root, first: git(root, 'rev-parse', 'HEAD~1').trim() };
}

describe('the options of an upgrade', () => {
  it('take an older commit to start from', () => {
    expect(readOptions(['--from', 'a8987b2', '--canaries', '24'], OPTIONS)).toEqual({
      ...OPTIONS,
      ...{ from: 'a8987b2', canaries: 24 },
    });
  });

  it('start from the present build where no commit is given', () => {
    expect(readOptions([], OPTIONS)).toMatchObject({ from: '' });
  });

  it('refuse --from without a commit', () => {
    expect(() => readOptions(['--from'], OPTIONS)).toThrow(UsageError);
  });
});

describe('an older commit', () => {
  it('is found by a part of its id', () => {
    const { root, first } = createRepository('whole');

    expect(findCommit(first.slice(0, 8), root)).toEqual({ commit: first });
  });

  it('is skipped where the clone does not know it', () => {
    const { root } = createRepository('other');

    expect(findCommit(UNKNOWN, root)).toEqual({ skipped: `this clone does not know the commit '${UNKNOWN}'` });
  });

  it('is skipped where the clone is shallow, with the remedy', () => {
    const { root, first } = createRepository('origin');
    git(folder, 'clone', '--quiet', '--depth', '1', `file://${root}`, 'shallow');

    expect(findCommit(first, join(folder, 'shallow'))).toHaveProperty(
      'skipped',
      expect.stringContaining('--unshallow'),
    );
  });

  it('is skipped where the sources are no git clone', () => {
    const root = join(folder, 'unpacked');
    mkdirSync(root);

    expect(findCommit(UNKNOWN, root)).toHaveProperty('skipped', expect.stringContaining('no git clone'));
  });
});

describe('npm run upgrade -- --from an unknown commit', () => {
  // The command loads the SDK of Temporal, which takes long on a busy machine.
  it('says that it skips and why, and ends well', () => {
    const root = resolve(import.meta.dirname, '../..');
    const script = join(root, 'test/upgrade/run.ts');
    const args = [join(root, 'node_modules/tsx/dist/cli.mjs'), script, '--from', UNKNOWN];

    const { status, stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });

    const lines = stdout.trimEnd().split('\n');
    expect(status).toBe(0);
    expect(lines[0]).toMatch(/^skipped: \w+/);
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual({ from: UNKNOWN, skipped: lines[0]?.slice('skipped: '.length) });
  }, 90_000);
});
