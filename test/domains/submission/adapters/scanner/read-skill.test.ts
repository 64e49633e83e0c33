import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readSkill } from '../../../../../src/domains/submission/adapters/scanner/read-skill.js';
import { scanVerdictOf } from '../../../../../src/domains/submission/core/verdict/scan-verdict.js';
import type { SkillFile } from '../../../../../src/domains/submission/ports/skill.js';
import { fileOf, FRONT_MATTER, skillOf } from './skill-files.js';

function idsOf(files: readonly SkillFile[]): string[] {
  return readSkill(files).hits.map(({ rule }) => rule.id.replace('structure.', ''));
}

function withFile(path: string, content: string | Uint8Array, isExecutable = false): SkillFile[] {
  return [...skillOf('# Sample'), fileOf(path, content, isExecutable)];
}

function withHeader(header: string): SkillFile[] {
  return [fileOf('SKILL.md', `${header}\n# Sample\n`)];
}

const bomb = `---\nname: x\na: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefgh'
  .split('')
  .map((key, at) => `${key}: &${key} [${Array.from({ length: 9 }, () => `*${'abcdefg'[at] ?? ''}`).join(',')}]`)
  .join('\n')}\ndescription: long enough to pass\n---\n`;

describe('the structure of a skill', () => {
  it('is sound with a SKILL.md, a name and a description', () => {
    expect(idsOf(skillOf('# Sample'))).toEqual([]);
  });

  it.each<[string, SkillFile[], string]>([
    ['no SKILL.md', [fileOf('README.md', FRONT_MATTER)], 'skill-md-missing'],
    ['more than 500 files', Array.from({ length: 501 }, (_, at) => fileOf(`${String(at)}.md`, '')), 'too-many-files'],
    [
      'more than 500 KB',
      Array.from({ length: 6 }, (_, at) => fileOf(`${String(at)}.md`, 'x'.repeat(90 * 1_024))),
      'folder-too-large',
    ],
    ['a file over 100 KB', withFile('long.md', 'x'.repeat(100 * 1_024 + 1)), 'file-too-large'],
    ['a path out of the folder', withFile('../x.md', ''), 'path-unsafe'],
    ['an absolute path', withFile('/etc/x.md', ''), 'path-unsafe'],
    ['a control character in a path', withFile('a\u001bb.md', ''), 'path-unsafe'],
    ['a direction override in a path', withFile('a\u202Ecod.md', ''), 'path-unsafe'],
    ['an archive, whatever its name', withFile('notes.md', gzipSync('x')), 'archive'],
    ['a zip', withFile('notes.txt', Buffer.from('PK\x03\x04rest', 'latin1')), 'archive'],
    ['a PDF', withFile('notes.md', '%PDF-1.7'), 'binary'],
    ['a program', withFile('tool', Buffer.from('\x7fELF\x02', 'latin1')), 'binary'],
    ['text with NUL', withFile('notes.md', 'a\0b'), 'binary'],
    ['UTF-16', withFile('notes.md', Buffer.from('\ufeffhello', 'utf16le')), 'binary'],
    ['what is not UTF-8', withFile('notes.md', Buffer.from([0x61, 0xff, 0x62])), 'not-utf-8'],
    ['a program by its name', withFile('setup.exe', 'x'), 'program-file'],
    ['a hidden file', withFile('.hidden/run.sh', 'x'), 'hidden-file'],
    ['no front matter', withHeader('# Title'), 'front-matter-missing'],
    ['front matter without an end', withHeader('---\nname: x'), 'front-matter-missing'],
    ['front matter in JavaScript', withHeader('---js\nmodule.exports = {}\n---'), 'front-matter-code'],
    ['front matter that is no YAML', withHeader('---\nname: [x\n---'), 'front-matter-invalid'],
    ['a tag that builds objects', withHeader('---\nname: !!js/function "x"\n---'), 'front-matter-invalid'],
    ['a list as front matter', withHeader('---\n- a\n---'), 'front-matter-invalid'],
    ['aliases that unfold', withHeader(bomb), 'front-matter-bomb'],
    ['deep nesting', withHeader(`---\nname: ${'['.repeat(5_000)}\n---`), 'front-matter-bomb'],
    ['huge front matter', withHeader(`---\nname: ${'x'.repeat(20_000)}\n---`), 'front-matter-bomb'],
    ['no name', withHeader('---\ndescription: long enough to pass\n---'), 'name-invalid'],
    ['a name that is no name', withHeader('---\nname: "../x"\ndescription: long enough to pass\n---'), 'name-invalid'],
    ['no description', withHeader('---\nname: x\n---'), 'description-length'],
    ['a short description', withHeader('---\nname: x\ndescription: too short\n---'), 'description-length'],
    ['a long description', withHeader(`---\nname: x\ndescription: ${'x'.repeat(1_025)}\n---`), 'description-length'],
  ])('is not valid with %s', (_, files, id) => {
    const { hits } = readSkill(files);

    expect(hits.map(({ rule }) => rule.id)).toContain(`structure.${id}`);
    expect(scanVerdictOf(hits.map(({ rule }) => rule))).toBe('fail');
  });

  it.each<[string, SkillFile[], string[]]>([
    ['an executable file', withFile('run.sh', 'ls', true), ['executable-bit']],
    ['an unusual extension', withFile('notes.qqq', 'x'), ['extension-unknown']],
    ['a .gitignore', withFile('.gitignore', 'dist'), []],
    ['a description of 10 characters', withHeader('---\nname: x\ndescription: "0123456789"\n---'), []],
    ['a description of 1024 characters', withHeader(`---\nname: x\ndescription: ${'x'.repeat(1_024)}\n---`), []],
    ['lines that end as on Windows', withHeader('---\r\nname: x\r\ndescription: long enough to pass\r\n---\r\n'), []],
    ['a few aliases', withHeader('---\nname: x\na: &a [b]\nc: *a\ndescription: long enough to pass\n---'), []],
  ])('stays valid with %s', (_, files, ids) => {
    expect(idsOf(files)).toEqual(ids);
    expect(scanVerdictOf(readSkill(files).hits.map(({ rule }) => rule))).toBe('pass');
  });

  it('is reported with the line of SKILL.md on which its YAML breaks, and the message of the YAML reader', () => {
    const { hits } = readSkill(withHeader('---\nname: x\ndescription: Use when: asked to\n---'));

    expect(hits).toMatchObject([
      { file: 'SKILL.md', line: 3, match: expect.stringContaining('(column 14)') as string },
    ]);
  });

  it('hands no text of a file that can’t be read to the engines', () => {
    const { texts } = readSkill(withFile('notes.md', Buffer.from([0xff])));

    expect(texts.map(({ path }) => path)).toEqual(['SKILL.md']);
  });
});
