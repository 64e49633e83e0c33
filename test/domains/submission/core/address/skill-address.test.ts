import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AddressRules,
  checkAddress,
  type GivenAddress,
  isVendor,
} from '../../../../../src/domains/submission/core/address/skill-address.js';

const RULES: AddressRules = { hosts: ['github.com', 'git.example.com:8443'], allowPrivate: false, allowLocal: false };
const HERE: AddressRules = {
  hosts: ['127.0.0.1', 'localhost', '[::1]', 'github.com'],
  allowPrivate: true,
  allowLocal: true,
};

function checked(given: Partial<GivenAddress>, rules = RULES) {
  return checkAddress({ repoUrl: 'https://github.com/acme/skills', skillName: 'greet', ...given }, rules);
}

/** The fields that an address is refused for. */
function wrongIn(given: Partial<GivenAddress>, rules = RULES): string[] {
  try {
    checked(given, rules);
    return [];
  } catch (error) {
    const { code, errors } = error as { code: string; errors: { path: string }[] };
    expect(code).toBe('invalid_input');
    return errors.map(({ path }) => path);
  }
}

describe("a repository's address", () => {
  it.each([
    ['https://github.com/acme/skills', 'https://github.com/acme/skills'],
    ['https://github.com/acme/skills.git', 'https://github.com/acme/skills.git'],
    ['https://github.com/acme/skills/', 'https://github.com/acme/skills'],
    ['HTTPS://GitHub.com/Acme/Skills', 'https://github.com/Acme/Skills'],
    ['https://github.com:443/acme/skills', 'https://github.com/acme/skills'],
    ['https://git.example.com:8443/group/sub/skills.git', 'https://git.example.com:8443/group/sub/skills.git'],
  ])('may be %s', (repoUrl, url) => {
    expect(checked({ repoUrl }).repository).toMatchObject({ kind: 'remote', url });
  });

  it.each([
    '',
    'skills',
    'github.com/acme/skills',
    'http://github.com/acme/skills',
    'git://github.com/acme/skills',
    'ssh://git@github.com/acme/skills',
    'git@github.com:acme/skills.git',
    'file:///etc',
    'ext::sh -c true',
    '--upload-pack=true',
    '-oProxyCommand=true',
    '/etc',
    'https://gitlab.com/acme/skills',
    'https://github.com.evil.example/acme/skills',
    'https://github.com@evil.example/acme/skills',
    'https://user:password@github.com/acme/skills',
    'https://evil.example#github.com/acme/skills',
    'https://evil.example\\@github.com/acme/skills',
    'https://github.com./acme/skills',
    'https://github.com:22/acme/skills',
    'https://github.com:99999/acme/skills',
    'https://git.example.com/acme/skills',
    'https://127.0.0.1/acme/skills',
    'https://2130706433/acme/skills',
    'https://[::1]/acme/skills',
    'https://localhost/acme/skills',
    'https://github.com',
    'https://github.com/acme',
    'https://github.com//acme/skills',
    'https://github.com/acme//skills',
    'https://github.com/acme/..',
    'https://github.com/../acme/skills',
    'https://github.com/acme/%2e%2e',
    'https://github.com/acme/-skills',
    'https://github.com/acme/skills?x=1',
    'https://github.com/acme/skills#main',
    'https://github.com/acme/skills/tree/main/skills/greet',
    'https://github.com/acme/ski\nlls',
    'https://github.com/acme/skills\n',
    ' https://github.com/acme/skills',
    'https://github.com/acme/skïlls',
    'https://gıthub.com/acme/skills',
    `https://github.com/acme/${'x'.repeat(500)}`,
  ])('is refused if it is %j', (repoUrl) => {
    expect(wrongIn({ repoUrl })).toEqual(['repoUrl']);
  });

  it('may be plain http on any port of this machine where that is allowed, and only there', () => {
    for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
      expect(wrongIn({ repoUrl: `http://${host}:4711/acme/skills` }, HERE)).toEqual([]);
      expect(wrongIn({ repoUrl: `http://${host}:4711/acme/skills` }, { ...HERE, allowPrivate: false })).toEqual([
        'repoUrl',
      ]);
      expect(wrongIn({ repoUrl: `http://${host}:4711/acme/skills` }, { ...HERE, hosts: ['github.com'] })).toEqual([
        'repoUrl',
      ]);
    }
    expect(wrongIn({ repoUrl: 'http://github.com/acme/skills' }, HERE)).toEqual(['repoUrl']);
    expect(wrongIn({ repoUrl: 'http://10.0.0.1/acme/skills' }, { ...HERE, hosts: ['10.0.0.1'] })).toEqual(['repoUrl']);
  });

  it('may be a folder where that is allowed, without a way out of it', () => {
    expect(checked({ repoUrl: '/home/me/skills/' }, HERE).repository).toEqual({
      kind: 'local',
      path: '/home/me/skills',
    });
    for (const repoUrl of ['/', '/home/../etc', '//host/share', '/home/me\n', '/home/.git']) {
      expect(wrongIn({ repoUrl }, HERE)).toEqual(['repoUrl']);
    }
  });
});

describe("a skill's path", () => {
  it.each([
    ['skills/greet', 'skills/greet'],
    ['./skills/greet/', 'skills/greet'],
    ['skills/greet/SKILL.md', 'skills/greet'],
    ['.claude/skills/grüße', '.claude/skills/grüße'],
    ['-x/a b', '-x/a b'],
    ['.', ''],
    ['./', ''],
    ['SKILL.md', ''],
    ['./SKILL.md', ''],
  ])('%j is %j, and so is what became of it', (skillPath, folder) => {
    expect(checked({ skillPath }).skillPath).toBe(folder);
    expect(checked({ skillPath: folder }).skillPath).toBe(folder);
  });

  it.each([
    ...['/', './/', '/etc', '..', '../x', 'a/../b', 'a/..', 'a//b', 'a/./b', 'a\\..\\b', '.git/hooks', 'a/.GIT'],
    ...['a\0b', 'a\nb', 'a\u202eb', '\ud800', 'x'.repeat(401)],
  ])('is refused if it is %j', (skillPath) => {
    expect(wrongIn({ skillPath })).toEqual(['skillPath']);
  });

  it('never leads out of the repository, whatever it is', () => {
    const parts = fc.constantFrom('..', '.', '/', '\\', 'a', ' ', '%2e%2e', '', '\0', './', '../', 'SKILL.md', '...');
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 8 }), (some) => {
        const skillPath = some.join('');
        if (wrongIn({ skillPath }).length > 0) return;
        const folder = checked({ skillPath }).skillPath ?? 'missing';
        expect(folder === '' || folder.split('/').every((part) => !['', '.', '..'].includes(part))).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('a name and a ref', () => {
  it.each(['greet', 'a', 'pdf-tools_2.0', 'A'.repeat(64)])('a skill may be named %s', (skillName) => {
    expect(wrongIn({ skillName })).toEqual([]);
  });

  it.each(['', '-x', '.x', 'a b', 'a/b', 'ä', 'a\n', 'A'.repeat(65), '$(id)', '<b>'])('but not %j', (skillName) => {
    expect(wrongIn({ skillName })).toEqual(['skillName']);
  });

  it.each(['main', 'feature/x', 'v1.0', 'release-2', 'grüße', '@x'])('a ref may be %s', (ref) => {
    expect(checked({ ref }).ref).toBe(ref);
  });

  it.each([
    ...['', '-x', '--upload-pack=x', 'a b', 'a..b', 'a:b', 'a^', 'a~1', '^a', '*', 'a*', 'a?', '[a', 'a\\b', 'a\n'],
    ...[
      '/a',
      'a/',
      'a//b',
      '.a',
      'a/.b',
      'a.lock',
      'a.lock/b',
      'a.',
      '@',
      'a@{1}',
      'refs/pull/1/head',
      'refs/heads/main',
    ],
    ...['0123456789abcdef0123456789abcdef01234567', 'a'.repeat(64), 'x'.repeat(201)],
  ])('but not %j', (ref) => {
    expect(wrongIn({ ref })).toEqual(['ref']);
  });
});

describe('an address with several faults', () => {
  it('names them all', () => {
    expect(wrongIn({ repoUrl: 'x', skillName: '', skillPath: '..', ref: '-' })).toEqual([
      'repoUrl',
      'skillName',
      'skillPath',
      'ref',
    ]);
  });
});

describe('a vendor', () => {
  function isOne(repoUrl: string, vendors: readonly string[], rules = HERE): boolean {
    return isVendor(checked({ repoUrl }, rules).repository, vendors);
  }

  it('is known by the owner of the repository, however it is written', () => {
    expect(isOne('https://github.com/Anthropics/skills', ['openai', 'anthropics'])).toBe(true);
    expect(isOne('https://github.com/acme/anthropics', ['anthropics'])).toBe(false);
    expect(isOne('https://github.com/anthropics-fake/skills', ['anthropics'])).toBe(false);
    expect(isOne('https://github.com/acme/skills', [])).toBe(false);
  });

  it('is one on github.com, and elsewhere only with the host', () => {
    expect(isOne('http://127.0.0.1:4711/anthropics/skills', ['anthropics'])).toBe(false);
    expect(isOne('http://127.0.0.1:4711/anthropics/skills', ['127.0.0.1/anthropics'])).toBe(true);
    expect(isOne('https://github.com/anthropics/skills', ['github.com/anthropics'])).toBe(true);
    expect(isOne('https://github.com/anthropics/skills', ['127.0.0.1/anthropics'])).toBe(false);
  });

  it('is never a local folder', () => {
    expect(isOne('/home/anthropics', ['anthropics', 'home'])).toBe(false);
  });
});
