import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { commitFolder } from '../../../../../src/domains/submission/start/submit/folder-repository.js';
import { tempDir } from '../../../../start/temp-dir.js';
import { repositoryIn } from '../../support/skill-repository.js';

const limits = { maxBytes: 512_000, maxFiles: 500 };

let dataDir: string;
let folder: string;
beforeEach(() => {
  dataDir = tempDir();
  folder = join(tempDir(), 'sort notes');
  mkdirSync(folder);
  writeFileSync(join(folder, 'SKILL.md'), '# Sort notes\n');
});

function committed(repository: string, ...args: string[]): string {
  return execFileSync('git', [`--git-dir=${repository}`, ...args], { encoding: 'utf8' }).trim();
}

describe('the temporary repository of a folder', () => {
  it('has the files of the folder, except those that a .gitignore names, and leaves the folder as it is', async () => {
    writeFileSync(join(folder, '.gitignore'), 'node_modules/\n');
    mkdirSync(join(folder, 'node_modules'));
    for (let n = 0; n < 600; n += 1) writeFileSync(join(folder, 'node_modules', `${n}.js`), '');
    writeFileSync(join(folder, 'run.sh'), 'true\n');
    chmodSync(join(folder, 'run.sh'), 0o755);
    symlinkSync('/etc/passwd', join(folder, 'link'));
    const before = readdirSync(folder);

    const { path, files } = await commitFolder(folder, { dataDir, limits });

    expect(files).toBe(4);
    const entries = committed(path, 'ls-tree', '--format=%(objectmode) %(path)', 'HEAD').split('\n');
    expect(entries).toEqual(['100644 .gitignore', '100644 SKILL.md', '120000 link', '100755 run.sh']);
    expect(readdirSync(folder)).toEqual(before);
  });

  it('has the same address and the same commit for the same content, and no file that was removed', async () => {
    const first = await commitFolder(folder, { dataDir, limits });
    const commit = committed(first.path, 'rev-parse', 'HEAD');
    writeFileSync(join(folder, 'more.md'), 'more');
    const second = await commitFolder(folder, { dataDir, limits });
    expect(second.path).toBe(first.path);
    expect(committed(first.path, 'rev-parse', 'HEAD')).not.toBe(commit);

    execFileSync('rm', [join(folder, 'more.md')]);
    await commitFolder(folder, { dataDir, limits });

    expect(committed(first.path, 'rev-parse', 'HEAD')).toBe(commit);
    expect(readdirSync(first.path).filter((name) => name.startsWith('index'))).toEqual([]);
  });

  it('is another one for a folder of the same name elsewhere', async () => {
    const other = join(tempDir(), 'sort notes');
    mkdirSync(other);
    writeFileSync(join(other, 'SKILL.md'), '# Another\n');
    const [one, two] = [
      await commitFolder(folder, { dataDir, limits }),
      await commitFolder(other, { dataDir, limits }),
    ];
    expect(one.path).not.toBe(two.path);
  });

  it.each<[string, () => void, RegExp]>([
    ['has too many files', () => manyFiles(501), /has more than 500 files, .*Remove the files that the skill does not/],
    ['has far too many files', () => manyFiles(9_000), /has more than 500 files/],
    ['is too large', () => writeFileSync(join(folder, 'big'), Buffer.alloc(512_000)), /has more than 512 KB/],
    [
      'has a repository inside',
      () => void repositoryIn(join(folder, 'inner'), { 'a.md': 'a' }),
      /inner\/ is a git repository inside the skill.*Remove its \.git folder\.$/,
    ],
  ])('is not made of a folder that %s', async (_, spoil, sentence) => {
    spoil();
    await expect(commitFolder(folder, { dataDir, limits })).rejects.toThrow(sentence);
  });

  it('is not made of a folder that is over the limits of this installation', async () => {
    manyFiles(3);
    const few = commitFolder(folder, { dataDir, limits: { ...limits, maxFiles: 3 } });
    await expect(few).rejects.toThrow(/has more than 3 files/);
    writeFileSync(join(folder, 'big'), Buffer.alloc(2_000));
    const small = commitFolder(folder, { dataDir, limits: { ...limits, maxBytes: 2_000 } });
    await expect(small).rejects.toThrow(/has more than 2 KB/);
  });

  it('needs git, and says so where there is none', async () => {
    const without = commitFolder(folder, { dataDir, limits, path: '/nowhere' });
    await expect(without).rejects.toThrow(/there is no git on this machine.*Install git 2\.37 or newer\.$/);
  });
});

/** With long names, so that the list of 9,000 is over a megabyte. */
function manyFiles(count: number): void {
  for (let n = 0; n < count; n += 1) writeFileSync(join(folder, `${'n'.repeat(120)}${n}`), '');
}
