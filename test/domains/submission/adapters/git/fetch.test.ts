import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { skillFile } from './repository.js';
import { openWorkshop } from './workshop.js';

const workshop = await openWorkshop();

function pathsOf({ files }: { files: readonly { path: string }[] }): string[] {
  return files.map(({ path }) => path);
}

describe('a skill', () => {
  it('is fetched by its path, with its files in order, their bytes and whether they are executable', async () => {
    const repository = workshop.repository('plain');
    const commit = repository.commit(
      repository.folderOf({
        'README.md': 'not of the skill',
        'skills/greet/SKILL.md': skillFile('greet'),
        'skills/greet/scripts/run.sh*': 'echo hello\n',
        'skills/greet/data.bin': Buffer.from([0, 255, 10, 13]),
        'skills/other/SKILL.md': skillFile('other'),
      }),
    );

    const skill = await workshop.fetch('plain', { skillPath: 'skills/greet' });

    expect(skill.commit).toBe(commit);
    expect(skill.contentHash).toMatch(/^[0-9a-f]{64}$/);
    expect(skill.files.map(({ path, isExecutable }) => [path, isExecutable])).toEqual([
      ['SKILL.md', false],
      ['data.bin', false],
      ['scripts/run.sh', true],
    ]);
    expect(Buffer.from(skill.files[1]?.bytes ?? [])).toEqual(Buffer.from([0, 255, 10, 13]));
  });

  it.each(['skills/greet/', './skills/greet', 'skills/greet/SKILL.md'])('may be given as %s', async (skillPath) => {
    expect(pathsOf(await workshop.fetch('plain', { skillPath }))).toContain('scripts/run.sh');
  });

  it("is found by its folder's name", async () => {
    expect(pathsOf(await workshop.fetch('plain', { skillName: 'Greet' }))).toContain('scripts/run.sh');
  });

  it('is found by the name in its front matter where no folder has that name', async () => {
    const repository = workshop.repository('inside');
    repository.commit(
      repository.folderOf({
        'a/SKILL.md': skillFile('"greet" # that one'),
        'a/here': 'yes',
        'b/SKILL.md': skillFile('greeting'),
      }),
    );

    expect(pathsOf(await workshop.fetch('inside'))).toEqual(['SKILL.md', 'here']);
  });

  it('may be the whole repository', async () => {
    const repository = workshop.repository('greet');
    repository.commit(repository.folderOf({ 'SKILL.md': skillFile('x'), 'docs/a.md': 'a' }));

    expect(pathsOf(await workshop.fetch('greet'))).toEqual(['SKILL.md', 'docs/a.md']);
    for (const skillPath of ['.', './', 'SKILL.md', '']) {
      expect(pathsOf(await workshop.fetch('greet', { skillPath, skillName: 'x' }))).toHaveLength(2);
    }
  });

  it("is not published under another skill's name, because a path does not choose the name", async () => {
    const repository = workshop.repository('two');
    repository.commit(
      repository.folderOf({ 'greet/SKILL.md': skillFile('greet'), 'skills/other/SKILL.md': skillFile('other') }),
    );

    const failure = await workshop.refused('two', { skillPath: 'skills/other', skillName: 'greet' });

    expect(failure).toMatchObject({ code: 'bad_input', field: 'skillName', isRetryable: false });
    expect(failure.message).toContain('skills/other');
  });

  it('is found once, however often the repository has the same folder', async () => {
    const repository = workshop.repository('copies');
    const skill = { 'SKILL.md': skillFile('greet') };
    const files = Object.entries(skill).flatMap(([path, text]) =>
      ['x/greet/', 'greet/'].map((at) => [at + path, text]),
    );
    repository.commit(repository.folderOf(Object.fromEntries(files) as Record<string, string>));

    expect(pathsOf(await workshop.fetch('copies'))).toEqual(['SKILL.md']);
  });

  it('has the same hash with the line ends of Windows, and another with another bit set', async () => {
    const hashes: string[] = [];
    for (const [name, run] of Object.entries({
      unix: ['run', 'a\nb\n'],
      windows: ['run', 'a\r\nb\r\n'],
      set: ['run*', 'a\nb\n'],
    })) {
      const repository = workshop.repository(name);
      repository.commit(
        repository.folderOf({ 'greet/SKILL.md': skillFile('greet'), [`greet/${run[0] ?? ''}`]: run[1] ?? '' }),
      );
      hashes.push((await workshop.fetch(name)).contentHash);
    }

    expect(hashes[1]).toBe(hashes[0]);
    expect(hashes[2]).not.toBe(hashes[0]);
  });
});

describe('the limits of a skill that an operator sets', () => {
  it('refuse a folder with more files or bytes', async () => {
    const repository = workshop.repository('limited');
    repository.commit(
      repository.folderOf({ 'greet/SKILL.md': skillFile('greet'), 'greet/a.md': 'a', 'greet/b.md': 'b'.repeat(2_000) }),
    );

    expect((await workshop.refused('limited', {}, { maxFiles: 2 })).message).toMatch(/more than 2 files/);
    expect((await workshop.refused('limited', {}, { maxBytes: 1_024 })).message).toMatch(/may hold 1 KB and has/);
    expect((await workshop.fetch('limited', {}, { maxFiles: 3, maxBytes: 4_096 })).files).toHaveLength(3);
  });
});

describe('the fetched state', () => {
  beforeAll(() => {
    const repository = workshop.repository('refs');
    function of(text: string): string {
      return repository.folderOf({ 'greet/SKILL.md': skillFile('greet'), 'greet/state': text });
    }
    repository.commit(of('main'));
    repository.commit(of('branch'), 'refs/heads/feature/x');
    repository.commit(of('tag'), 'refs/tags/v1');
    const commit = repository.commit(of('annotated'), 'refs/tags/light');
    const tag = `object ${commit}\ntype commit\ntag v2\ntagger A <a@example.com> 1700000000 +0000\n\nv2\n`;
    repository.point('refs/tags/v2', repository.put('tag', Buffer.from(tag)));
    repository.commit(of("somebody else's"), 'refs/pull/1/head');
    repository.point('refs/tags/no-commit', repository.blob('x'));
  });

  it.each([
    [undefined, 'main'],
    ['main', 'main'],
    ['feature/x', 'branch'],
    ['v1', 'tag'],
    ['v2', 'annotated'],
  ])('of %s is %s', async (ref, state) => {
    const { files } = await workshop.fetch('refs', { ref });

    expect(files.map(({ bytes }) => Buffer.from(bytes).toString())).toContain(state);
  });

  it.each(['pull/1/head', 'nowhere', 'no-commit'])('is never of %s, which is no branch and no tag', async (ref) => {
    expect(await workshop.refused('refs', { ref })).toMatchObject({ field: 'ref', isRetryable: false });
  });
});

describe('the transfer', () => {
  it('carries the skill, and not the repository', async () => {
    const repository = workshop.repository('huge');
    const noise = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`assets/${at}.bin`, randomBytes(100_000)]));
    repository.commit(repository.folderOf({ ...noise, 'greet/SKILL.md': skillFile('greet') }));
    const before = workshop.server.sent();

    expect(pathsOf(await workshop.fetch('huge'))).toEqual(['SKILL.md']);

    expect(workshop.server.sent() - before).toBeLessThan(100_000);
  });

  it('may carry the repository where the server can leave nothing out', async () => {
    const repository = workshop.repository('unfiltered', ['allowFilter = false']);
    repository.commit(
      repository.folderOf({ 'x.bin': randomBytes(100_000), 'a/SKILL.md': skillFile('greet'), 'a/b': 'b' }),
    );
    const before = workshop.server.sent();

    expect(pathsOf(await workshop.fetch('unfiltered'))).toEqual(['SKILL.md', 'b']);

    expect(workshop.server.sent() - before).toBeGreaterThan(100_000);
  });

  it('is not mixed up with others at the same time', async () => {
    const names = ['plain', 'inside', 'greet', 'copies', 'huge'];
    const skills = await Promise.all(names.map((name) => workshop.fetch(name)));

    expect(skills.map((skill) => pathsOf(skill).length)).toEqual([3, 2, 2, 1, 1]);
  });
});

describe('a local folder', () => {
  it('is fetched where local folders are allowed, as far as it is committed', async () => {
    const { folder } = workshop.repository('plain');

    const skill = await workshop.fetch('', { repoUrl: folder }, { allowLocal: true });

    expect(skill).toEqual(await workshop.fetch('plain'));
  });

  it('is refused elsewhere', async () => {
    expect(await workshop.refused('', { repoUrl: workshop.scratch })).toMatchObject({
      field: 'repoUrl',
      message: expect.stringContaining('local folder') as string,
    });
  });

  it('is refused if it is no repository', async () => {
    const failure = await workshop.refused('', { repoUrl: workshop.scratch }, { allowLocal: true });

    expect(failure).toMatchObject({ field: 'repoUrl', isRetryable: false });
    expect(failure.message).toContain('not a git repository');
  });
});
