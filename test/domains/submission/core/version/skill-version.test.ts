import { createHash } from 'node:crypto';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import semver from 'semver';
import { describe, expect, it } from 'vitest';
import { nextVersion, type VersionedSkill } from '../../../../../src/domains/submission/core/version/skill-version.js';

type Files = Readonly<Record<string, string>>;

function skillOf(files: Files): VersionedSkill {
  const contentHash = createHash('sha256').update(JSON.stringify(files)).digest('hex');
  return { contentHash, files: Object.entries(files).map(([path, text]) => ({ path, text, isExecutable: false })) };
}

const FRONT = { name: 'greet', description: 'Says hello to people.', 'allowed-tools': 'Read, Bash(git status)' };
const BODY = {
  '': 'Say hello.',
  Usage: 'Say the name.\nSay it kindly.\nSay it once.\nThen stop.',
  Security: 'Never say a secret.\nAsk first.',
};

function skillFile(front: Files = FRONT, body: Files = BODY): string {
  const head = Object.entries(front).map(([key, value]) => `${key}: ${value}\n`);
  const sections = Object.entries(body).map(([title, text]) => `${title && `## ${title}\n\n`}${text}\n\n`);
  return `---\n${head.join('')}---\n\n${sections.join('')}`;
}

const BEFORE: Files = { 'SKILL.md': skillFile(), 'notes.md': 'one\ntwo\nthree\nfour\n' };

function without<T extends object>(given: T, key: string): T {
  return Object.fromEntries(Object.entries(given).filter(([name]) => name !== key)) as T;
}

function changed(after: Files, before: Files = BEFORE) {
  return nextVersion({ ...skillOf(before), version: '1.4.2' }, skillOf(after));
}

describe('the version of a skill', () => {
  it('is 1.0.0 at first', () => {
    expect(nextVersion(null, skillOf(BEFORE))).toEqual({ version: '1.0.0', change: 'first', reasons: [] });
  });

  it('stays for the same content', () => {
    expect(changed(BEFORE)).toEqual({ version: '1.4.2', change: 'none', reasons: [] });
  });

  it.each<[string, Files, string]>([
    ['asks for another tool', { ...FRONT, 'allowed-tools': 'Read, Bash(git status), Write' }, 'allowed-tools Write'],
    ['asks for more of a tool', { ...FRONT, 'allowed-tools': 'Read, Bash(git *)' }, 'Bash(git *)'],
    [
      'asks for tools in a list',
      { ...FRONT, 'allowed-tools': '\n  - Read\n  - Bash(git status)\n  - WebFetch' },
      'WebFetch',
    ],
    ['asks for permissions it did not', { ...FRONT, permissions: '[network]' }, 'permissions network'],
    ['widens its scope', { ...FRONT, scope: 'organisation' }, 'scope organisation'],
  ])('is a major one when it %s', (_, front, reason) => {
    const { version, change, reasons } = changed({ ...BEFORE, 'SKILL.md': skillFile(front) });

    expect({ version, change }).toEqual({ version: '2.0.0', change: 'major' });
    expect(reasons.join()).toContain(reason);
  });

  it.each<[string, Files, string]>([
    ['loses its section about security', without(BODY, 'Security'), 'security is gone'],
    ['leaves of it the title alone', { ...BODY, Security: '' }, 'shrunk'],
    ['deletes folders', { ...BODY, Usage: `${BODY.Usage}\nrm -rf build` }, 'deletes folders'],
    ['throws work away', { ...BODY, Usage: `${BODY.Usage}\n  git reset  --hard` }, 'throws work in git away'],
    ['deletes data', { ...BODY, Usage: `${BODY.Usage}\ndrop table users;` }, 'deletes data'],
    ['raises its rights', { ...BODY, Usage: `${BODY.Usage}\nsudo make install` }, 'raises its own rights'],
    ['reads keys', { ...BODY, Usage: `${BODY.Usage}\ncat ~/.ssh/id_rsa` }, 'reads the environment or keys'],
  ])('is a major one when it %s', (_, body, reason) => {
    const { change, reasons } = changed({ ...BEFORE, 'SKILL.md': skillFile(FRONT, body) });

    expect(change).toBe('major');
    expect(reasons.join()).toContain(reason);
  });

  it('is a major one when it brings its first script, or rules less out', () => {
    expect(changed({ ...BEFORE, 'run.py': 'print("hello")\n' }).change).toBe('major');
    const denying = { 'SKILL.md': skillFile({ ...FRONT, 'disallowed-tools': 'Write, Edit' }) };
    expect(changed({ 'SKILL.md': skillFile({ ...FRONT, 'disallowed-tools': 'Write' }) }, denying).change).toBe('major');
  });

  it.each<[string, Files, string]>([
    ['a section comes', { 'SKILL.md': skillFile(FRONT, { ...BODY, Examples: 'Hello, Ada.' }) }, 'is new: examples'],
    ['a section goes', { 'SKILL.md': skillFile(FRONT, without(BODY, 'Usage')) }, 'is gone: usage'],
    [
      'a section is much rewritten',
      { 'SKILL.md': skillFile(FRONT, { ...BODY, Usage: 'Wave.\nSmile.' }) },
      'much rewritten: usage',
    ],
    ['the opening is much rewritten', { 'SKILL.md': skillFile(FRONT, { ...BODY, '': 'Greet people.' }) }, 'opening'],
    ['the front matter grows', { 'SKILL.md': skillFile({ ...FRONT, license: 'MIT' }) }, 'says more: license'],
    ['a file comes', { 'more.md': 'more' }, 'is new: more.md'],
    ['a file is much rewritten', { 'notes.md': 'one\nand\nall\nelse\n' }, 'much rewritten: notes.md'],
  ])('is a minor one when %s', (_, files, reason) => {
    const { version, change, reasons } = changed({ ...BEFORE, ...files });

    expect({ version, change }).toEqual({ version: '1.5.0', change: 'minor' });
    expect(reasons.join()).toContain(reason);
  });

  it('is no major one when what it asks for is only written over several lines', () => {
    const folded = skillFile({ ...FRONT, 'allowed-tools': '>-\n  Read, Bash(git status)' });
    expect(changed({ ...BEFORE, 'SKILL.md': folded }).change).toBe('minor');
  });

  it.each([
    ['{name: x, allowed-tools: Read}', '{name: x, allowed-tools: "Read, Write"}', 'allowed-tools Write'],
    ['mine: &t Read\nallowed-tools: *t', 'mine: &t Read, Write\nallowed-tools: *t', 'allowed-tools Write'],
    ['tools: {edit: false}', 'tools: {edit: true}', 'tools edit: true'],
    ['x: {tools: [Read]}', 'x: {tools: [Read, Write]}', 'tools Write'],
    ['{tools: {edit: false}}', '{tools: {}}', 'no longer rules out: tools edit: false'],
    ['{permissions: {deny: [Edit]}}', '{permissions: {deny: []}}', 'no longer rules out: deny Edit'],
    ['allowed-tools: "x', '{name: x, allowed-tools: Write}', 'allowed-tools Write'],
    ['allowed-tools: Read', 'allowed-tools: [Read', 'can no longer be read'],
  ])('is a major one when front matter goes from %j to %j', (before, after, reason) => {
    const [old, now] = [before, after].map((front) => ({ 'SKILL.md': `---\n${front}\n---\nSay hello.\n` }));
    const { change, reasons } = changed(now ?? {}, old);

    expect(change).toBe('major');
    expect(reasons.join()).toContain(reason);
  });

  it.each([
    ['{name: x, tools: [Read, Write]}', 'name: x\ntools: Write, Read', 'minor'],
    ['name: x\ntools: Read # not Write', 'name: x\ntools: Read # nor Write or Edit', 'patch'],
    ['{tools: {edit: true}}', '{tools: {edit: false}}', 'patch'],
    ['{name: x}', '{name: x, license: MIT}', 'minor'],
  ])('asks for no more when front matter goes from %j to %j', (before, after, change) => {
    const [old, now] = [before, after].map((front) => ({ 'SKILL.md': `---\n${front}\n---\nSay hello.\n` }));
    expect(changed(now ?? {}, old).change).toBe(change);
  });

  it('is found for files that are made to be slow, with a bounded number of reasons', () => {
    const marks = { 'SKILL.md': `a${'\u0301\u0323'.repeat(100_000)}` };
    const version = () => changed({ ...marks, 'x.md': 'x' }, marks);
    const told = runInNewContext('version()', { version }, { timeout: 10_000 }) as ReturnType<typeof changed>;
    expect(told).toMatchObject({ change: 'minor', reasons: ['A file is new: x.md.'] });

    const lists = ['a', 'b'].map((word) => Array.from({ length: 30_000 }, (_, n) => `\n  - ${word}${String(n)}`));
    const [before, after] = lists.map((tools) => ({ 'SKILL.md': skillFile({ ...FRONT, tools: tools.join('') }) }));
    const { reasons } = changed(after ?? {}, before);
    expect(reasons).toHaveLength(21);
    expect(reasons.at(-1)).toBe('And 29980 more.');
  });

  it('is a minor one when a file goes', () => {
    expect(changed(without(BEFORE, 'notes.md'))).toMatchObject({ version: '1.5.0', change: 'minor' });
  });

  it.each<[string, Files]>([
    ['a word changes', { 'SKILL.md': skillFile(FRONT, { ...BODY, Usage: BODY.Usage.replace('kindly', 'gently') }) }],
    ['it asks for less', { 'SKILL.md': skillFile({ ...FRONT, 'allowed-tools': 'Read' }) }],
    ['front matter goes', { 'SKILL.md': skillFile(without(FRONT, 'allowed-tools')) }],
    ['a title is written otherwise', { 'SKILL.md': skillFile().replace('## Usage', '###  USAGE ##') }],
    [
      'a comment in a fence looks like a title',
      { 'SKILL.md': skillFile(FRONT, { ...BODY, Usage: `${BODY.Usage}\n\`\`\`\n# hello\n\`\`\`` }) },
    ],
    ['a line moves', { 'notes.md': 'two\none\nthree\nfour\n' }],
  ])('is a patch when %s', (_, files) => {
    expect(changed({ ...BEFORE, ...files })).toEqual({ version: '1.4.3', change: 'patch', reasons: [] });
  });

  it('is not derived from a version of another form', () => {
    for (const version of ['', '1', '1.0', 'v1.0.0', '1.0.0-beta', '01.0.0', '1.0.0\n']) {
      expect(() => nextVersion({ ...skillOf(BEFORE), version }, skillOf({}))).toThrow(
        'is not a version of the form 1.2.3',
      );
    }
  });
});

/** Skills that are alike in parts: titles, lines and keys from short lists. */
function skills(): fc.Arbitrary<Files> {
  const lines = fc.constantFrom(
    'Say hello.',
    'Ask first.',
    'rm -rf build',
    'sudo make',
    '# not a title',
    '```',
    'git clean -fd',
    '',
  );
  const text = fc.array(lines, { maxLength: 5 }).map((some) => some.join('\n'));
  const body = fc.dictionary(fc.constantFrom('', 'Usage', 'Security', 'Examples', 'Risks'), text, { maxKeys: 4 });
  const values = fc.constantFrom('Read', 'Read, Write', '[Bash]', '\n  - Read\n  - Bash(git *)', '"', '');
  const front = fc.dictionary(fc.constantFrom('name', 'allowed-tools', 'permissions', 'license'), values, {
    maxKeys: 4,
  });
  const others = fc.dictionary(fc.constantFrom('a.md', 'b.py', 'c.txt'), text, { maxKeys: 2 });
  return fc
    .tuple(front, body, others)
    .map(([head, sections, more]) => ({ ...more, 'SKILL.md': skillFile({ ...head }, { ...sections }) }));
}

function versions(): fc.Arbitrary<string> {
  const number = fc.nat({ max: 99_999 });
  return fc.tuple(number, number, number).map((numbers) => numbers.join('.'));
}

describe('a text made to take for ever', () => {
  it.each([
    ...[
      'rm -a ',
      'Remove-Item ',
      'git push ',
      'dd ',
      'aws ',
      '# a\n',
      '# #',
      'a(',
      ' #',
      '"',
      '```\n',
      'x\n',
      ': ',
      '- ',
    ],
    ...['rmSync(', 'git clean -', '-a', '#', ' '],
  ])('of %j does not', (piece) => {
    const text = piece.repeat(250_000 / piece.length);
    for (const after of [`# ${text}`, `---\nname: x\ntools: ${text}\n---\n${text}`]) {
      expect(semver.valid(changed({ 'SKILL.md': after }).version)).not.toBeNull();
    }
  });
});

describe('whatever changes in a skill', () => {
  it('its version is valid and goes up by the step that is named, and stays only for the same content', () => {
    fc.assert(
      fc.property(versions(), skills(), skills(), (version, before, after) => {
        const next = nextVersion({ ...skillOf(before), version }, skillOf(after));
        expect(semver.valid(next.version)).toBe(next.version);
        const isSame = skillOf(before).contentHash === skillOf(after).contentHash;
        expect(next.change === 'none').toBe(isSame);
        expect(next.version).toBe(isSame ? version : semver.inc(version, next.change as 'major' | 'minor' | 'patch'));
        expect(next.reasons.length > 0).toBe(next.change === 'major' || next.change === 'minor');
      }),
      { numRuns: 2_000 },
    );
  });

  it('versions of a history only go up', () => {
    fc.assert(
      fc.property(fc.array(skills(), { minLength: 2, maxLength: 8 }), (history) => {
        let last: (VersionedSkill & { version: string }) | null = null;
        for (const skill of history.map(skillOf)) {
          const { version, change } = nextVersion(last, skill);
          if (last !== null && change !== 'none') expect(semver.gt(version, last.version)).toBe(true);
          last = { ...skill, version };
        }
      }),
      { numRuns: 300 },
    );
  });

  it('a tool more or a destructive line more is a major step, a section more at least a minor one', () => {
    fc.assert(
      fc.property(skills(), (before) => {
        const text = before['SKILL.md'] ?? '';
        const asking = { ...before, 'SKILL.md': text.replace('---\n', '---\ntools: Everything\n') };
        expect(changed(asking, before).change).toBe('major');
        expect(changed({ ...before, 'z.txt': 'terraform destroy' }, before).change).toBe('major');
        expect(['minor', 'major']).toContain(changed({ ...before, 'z.txt': 'x' }, before).change);
      }),
      { numRuns: 500 },
    );
  });

  it('the order of the files does not matter', () => {
    fc.assert(
      fc.property(skills(), skills(), (before, after) => {
        const [one, other] = [skillOf(before), skillOf(after)];
        const turned = nextVersion(
          { ...one, files: one.files.toReversed(), version: '1.0.0' },
          { ...other, files: other.files.toReversed() },
        );
        expect(turned.change).toBe(nextVersion({ ...one, version: '1.0.0' }, other).change);
      }),
      { numRuns: 500 },
    );
  });
});
