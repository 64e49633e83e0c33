import { randomBytes } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { bombOf, commitGreet, type HandMade, type Row, skillFile } from './repository.js';
import { openWorkshop } from './workshop.js';

const workshop = await openWorkshop();

let count = 0;

/** A repository with the skill `greet` in it, whose folder holds these rows besides. */
function withRows(rows: (repository: HandMade) => readonly Row[]): string {
  count += 1;
  const name = `hostile-${count}`;
  const repository = workshop.repository(name);
  commitGreet(repository, rows(repository));
  return name;
}

const EMPTY_ROW = { mode: '100644', name: 'a' };

describe("a skill's folder is refused, with the reason and the remedy,", () => {
  it.each<[string, (repository: HandMade) => readonly Row[], RegExp]>([
    [
      'for a symbolic link out of it',
      (made) => [{ mode: '120000', name: 'passwd', id: made.blob('../../../../etc/passwd') }],
      /greet\/passwd, which is a symbolic link; put the file itself/,
    ],
    [
      'for a symbolic link in place of a folder',
      (made) => [{ mode: '120000', name: 'scripts', id: made.blob('/') }],
      /greet\/scripts, which is a symbolic link/,
    ],
    [
      'for a submodule',
      () => [{ mode: '160000', name: 'vendor', id: '1'.repeat(40) }],
      /greet\/vendor, which is a submodule, which is not fetched; put its files/,
    ],
    ['for a name of ..', (made) => [{ ...EMPTY_ROW, name: '..', id: made.blob('x') }], /not plain text: greet\/\.\./],
    [
      'for a folder named ..',
      (made) => [{ mode: '40000', name: '..', id: made.folderOf({ x: 'x' }) }],
      /not plain text: greet\/\.\./,
    ],
    ['for a name with a slash', (made) => [{ ...EMPTY_ROW, name: 'a/../../b', id: made.blob('x') }], /not plain text/],
    [
      'for a .git in it',
      (made) => [{ mode: '40000', name: '.GIT', id: made.folderOf({ config: 'x' }) }],
      /not plain text/,
    ],
    [
      'for a name with a line end',
      (made) => [{ ...EMPTY_ROW, name: 'a\nb', id: made.blob('x') }],
      /greet\/a\\u\{a\}b; rename/,
    ],
    [
      'for a name with an escape',
      (made) => [{ ...EMPTY_ROW, name: '\u001b[2Ja', id: made.blob('x') }],
      /\\u\{1b\}\[2Ja/,
    ],
    [
      'for a name that runs backwards',
      (made) => [{ ...EMPTY_ROW, name: 'a\u202egpj.sh', id: made.blob('x') }],
      /\\u\{202e\}/,
    ],
    [
      'for a name that is not UTF-8',
      (made) => [{ ...EMPTY_ROW, name: Buffer.from([0x61, 0xff, 0xfe]), id: made.blob('x') }],
      /not plain text: greet\/a\\u\{fffd\}/,
    ],
    [
      'for two files of one name',
      (made) => [1, 2].map((n) => ({ ...EMPTY_ROW, id: made.blob(String(n)) })),
      /greet\/a twice/,
    ],
    [
      'for something that is no file',
      (made) => [{ ...EMPTY_ROW, mode: '10644', id: made.blob('x') }],
      /neither a file nor/,
    ],
    [
      'for 10,000 files',
      (made) => {
        const id = made.blob('x');
        return Array.from({ length: 10_000 }, (_, n) => ({ ...EMPTY_ROW, name: `f${String(n).padStart(5, '0')}`, id }));
      },
      /more than 500 files/,
    ],
    [
      'for folders a hundred deep',
      (made) => {
        let id = made.folderOf({ x: 'x' });
        for (let depth = 0; depth < 100; depth += 1) id = made.tree([{ mode: '40000', name: 'd', id }]);
        return [{ mode: '40000', name: 'd', id }];
      },
      /more than 40 deep/,
    ],
    [
      'for a file of 600 KB',
      (made) => [{ ...EMPTY_ROW, id: made.blob(randomBytes(600_000)) }],
      /a file that is larger: a; remove/,
    ],
    [
      'for files of 600 KB together',
      (made) => [1, 2, 3].map((n) => ({ ...EMPTY_ROW, name: `f${n}`, id: made.blob(randomBytes(200_000)) })),
      /may hold 500 KB and has 587 KB/,
    ],
  ])('%s', async (_, rows, reason) => {
    const failure = await workshop.refused(withRows(rows));

    expect(failure).toMatchObject({ code: 'bad_input', kind: 'invalid', field: 'skillPath', isRetryable: false });
    expect(failure.message).toMatch(reason);
  });

  it.each<[string, { skillPath?: string }, RegExp]>([
    ['that is looked for', {}, /^repoUrl names a repository whose greet\/SKILL\.md is a symbolic link.*; put the file/],
    [
      'that is named',
      { skillPath: 'greet' },
      /^skillPath names a folder whose SKILL\.md is a symbolic link.*; put the/,
    ],
  ])('for a SKILL.md that is a link, in a folder %s', async (_, given, reason) => {
    const repository = workshop.repository('linked');
    const greet = repository.tree([{ mode: '120000', name: 'SKILL.md', id: repository.blob('../other/SKILL.md') }]);
    const other = repository.folderOf({ 'SKILL.md': skillFile('other') });
    const rows = [
      { mode: '40000', name: 'greet', id: greet },
      { mode: '40000', name: 'other', id: other },
    ];
    repository.commit(repository.tree(rows));

    const failure = await workshop.refused('linked', given);

    expect(failure).toMatchObject({ code: 'bad_input', isRetryable: false });
    expect(failure.message).toMatch(reason);
  });

  it('for folders that hold each other a thousand million times', async () => {
    const bomb = withRows((made) => [{ mode: '40000', name: 'd', id: bombOf(made) }]);

    expect((await workshop.refused(bomb)).message).toMatch(/more than 500 files/);
  });
});

describe('content beside the skill', () => {
  it('does no harm: links, submodules, odd names, hooks, 10,000 files and folders without end', async () => {
    const repository = workshop.repository('beside');
    const x = repository.blob('x');
    const many = Array.from({ length: 10_000 }, (_, n) => ({
      ...EMPTY_ROW,
      name: `f${String(n).padStart(5, '0')}`,
      id: x,
    }));
    const rows: Row[] = [
      { mode: '120000', name: '0-link', id: repository.blob('/etc') },
      { mode: '160000', name: '1-submodule', id: '1'.repeat(40) },
      { mode: '100644', name: '2\n\u001b', id: x },
      { mode: '40000', name: '..', id: repository.folderOf({ 'greet/SKILL.md': 'x' }) },
      { mode: '100644', name: '.gitattributes', id: repository.blob('* filter=evil text eol=crlf\n') },
      {
        mode: '100644',
        name: '.gitmodules',
        id: repository.blob('[submodule "x"]\n\tpath = x\n\turl = --upload-pack=evil\n'),
      },
      { mode: '40000', name: 'bomb', id: bombOf(repository) },
      { mode: '40000', name: 'greet', id: repository.folderOf({ 'SKILL.md': skillFile('greet') }) },
      { mode: '40000', name: 'hooks', id: repository.folderOf({ 'post-checkout*': '#!/bin/sh\nexit 1\n' }) },
      { mode: '40000', name: 'many', id: repository.tree(many) },
    ];
    repository.commit(repository.tree(rows));

    expect((await workshop.fetch('beside')).files.map(({ path }) => path)).toEqual(['SKILL.md']);
  });

  it('is not reached by a path through a link or a submodule', async () => {
    for (const [name, why] of Object.entries({ '0-link': 'symbolic link', '1-submodule': 'submodule' })) {
      const failure = await workshop.refused('beside', { skillPath: `${name}/greet` });

      expect(failure).toMatchObject({ field: 'skillPath', isRetryable: false });
      expect(failure.message).toContain(`passes through a ${why} (${name})`);
    }
  });
});

describe('an archive made to be blown up', () => {
  it('is a file like any other, and is not opened', async () => {
    const bomb = deflateRawSync(Buffer.alloc(50_000_000));
    const name = withRows((made) => [{ ...EMPTY_ROW, name: 'bomb.zip', id: made.blob(bomb) }]);

    const { files } = await workshop.fetch(name);

    expect(files.map(({ path, bytes }) => [path, bytes.length])).toContainEqual(['bomb.zip', bomb.length]);
  });
});

describe('a repository', () => {
  it('is refused if it is empty', async () => {
    workshop.repository('empty');

    expect(await workshop.refused('empty')).toMatchObject({
      field: 'repoUrl',
      isRetryable: false,
      message: expect.stringContaining('empty repository; push a commit') as string,
    });
  });

  it('is refused if it does not exist', async () => {
    expect(await workshop.refused('nowhere')).toMatchObject({
      field: 'repoUrl',
      isRetryable: false,
      message: expect.stringContaining('private or does not exist') as string,
    });
  });

  it('is refused if it has no skill', async () => {
    const repository = workshop.repository('none');
    repository.commit(repository.folderOf({ 'README.md': 'x', 'greet/README.md': 'x' }));

    expect((await workshop.refused('none')).message).toContain('without a SKILL.md; add one');
    expect((await workshop.refused('none', { skillPath: 'greet' })).message).toContain('a folder without a SKILL.md');
    expect((await workshop.refused('none', { skillPath: 'nowhere' })).message).toContain(
      'not in the repository: nowhere',
    );
    expect((await workshop.refused('none', { skillPath: 'README.md' })).message).toContain('not in the repository');
  });

  it('is refused with the names of its skills if the wanted skill is not there', async () => {
    const repository = workshop.repository('others');
    const names = Array.from({ length: 12 }, (_, n) => `skill-${String(n).padStart(2, '0')}`);
    repository.commit(
      repository.folderOf(Object.fromEntries(names.map((name) => [`${name}/SKILL.md`, skillFile(name)]))),
    );

    const failure = await workshop.refused('others');

    expect(failure).toMatchObject({ field: 'skillName', isRetryable: false });
    expect(failure.message).toMatch(/fits none .*: skill-00, .*, skill-09 and 2 more; correct it or give skillPath/);
  });

  it.each([
    ['two folders of that name', { 'a/greet/SKILL.md': '1', 'b/greet/SKILL.md': '2' }, 'a/greet, b/greet'],
    ['that name inside two', { 'a/SKILL.md': skillFile('greet'), 'b/SKILL.md': `${skillFile('greet')}!` }, 'a, b'],
  ])('with %s, until one is chosen', async (what, files, candidates) => {
    const repository = workshop.repository(what.replaceAll(' ', '-'));
    repository.commit(repository.folderOf(files));

    const failure = await workshop.refused(what.replaceAll(' ', '-'));

    expect(failure).toMatchObject({ field: 'skillName', isRetryable: false });
    expect(failure.message).toContain(`fits several folders: ${candidates}; choose one of them with skillPath`);
  });

  it('is refused if it has more skills than are looked into, unless a folder has the wanted name', async () => {
    const repository = workshop.repository('market');
    const skill = skillFile('x');
    const files = Array.from({ length: 250 }, (_, n) => [`s${n}/SKILL.md`, `${skill}${n}`]);
    repository.commit(repository.folderOf(Object.fromEntries(files) as Record<string, string>));

    expect(await workshop.refused('market')).toMatchObject({ field: 'skillPath', isRetryable: false });
    expect((await workshop.fetch('market', { skillName: 's77' })).files).toHaveLength(1);
  });
});
