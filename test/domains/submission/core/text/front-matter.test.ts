import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import {
  bodyOf,
  frontMatterText,
  readFrontMatter,
} from '../../../../../src/domains/submission/core/text/front-matter.js';

/** Neither `.` nor `$` matches this character, so a careless pattern tries every way to get past it. */
const LINE_SEPARATOR = '\u2028';

/** Vitest's time limit does not stop a test that blocks. The time limit of a new context does. */
function withinSeconds<T>(read: () => T): T {
  return runInNewContext('read()', { read }, { timeout: 2_000 }) as T;
}

function page(...lines: string[]): string {
  return ['---', ...lines, '---', '', 'The body.', ''].join('\n');
}

describe('the text of a front matter key', () => {
  it.each<[string, string[], string]>([
    ['plain', ['description: Tidies up. # really'], 'Tidies up.'],
    ['quoted twice', ['description: "Says \\"hi\\": \\u263a"'], 'Says "hi": \u263a'],
    ['quoted once', ["description: 'It''s tidy'"], "It's tidy"],
    ['folded', ['description: >', '  Tidies a', '  folder up.', 'name: x'], 'Tidies a folder up.'],
    ['folded and stripped', ['description: >-', '  Tidies a', '', '  folder up.'], 'Tidies a\nfolder up.'],
    ['literal', ['description: |', '  Tidies', '  up.'], 'Tidies\nup.'],
    ['over several plain lines', ['description: Tidies a', '  folder up.'], 'Tidies a folder up.'],
    ['an alias', ['name: &it Tidies up.', 'description: *it'], 'Tidies up.'],
    ['a number', ['description: 42'], '42'],
    ['in capitals', ['Description: Tidies up.'], 'Tidies up.'],
    ['a list', ['description: [a, b]'], ''],
    ['not there', ['name: x'], ''],
    ['no YAML, but a line', ['description: Use when: asked # to'], 'Use when: asked'],
    ['no YAML, quoted', ['description: "pdf" # a name', 'x: [', 'y'], 'pdf'],
  ])('is had where it is %s', (_, lines, value) => {
    expect(frontMatterText(page(...lines), 'description')).toBe(value);
  });

  it('is the same with the line ends of Windows and a byte order mark', () => {
    const text = `\uFEFF${page('description: >', '  Tidies a', '  folder up.').replaceAll('\n', '\r\n')}`;
    expect(frontMatterText(text, 'description')).toBe('Tidies a folder up.');
    expect(bodyOf(text).trim()).toBe('The body.');
  });

  it('is read at once even if its many quotes are made to be slow', () => {
    const text = `---\nname:\n"${'"#'.repeat(50_000)}${LINE_SEPARATOR}x\n---\n`;
    expect(withinSeconds(() => frontMatterText(text, 'name'))).not.toBe('');
  });
});

describe('front matter', () => {
  const aliases = Array.from(
    { length: 9 },
    (_, n) => `a${String(n + 1)}: &a${String(n + 1)} [${`*a${String(n)},`.repeat(9)}]`,
  );

  it.each<[string, string, string]>([
    ['a language that somebody might run', page('description: x').replace('---', '---js'), 'code'],
    ['aliases that swell', page('a0: &a0 x', ...aliases), 'bomb'],
    ['brackets without end', page(`a: ${'['.repeat(5_000)}`), 'bomb'],
    ['lists without end', page(`a:`, `${'- '.repeat(500)}x`), 'bomb'],
    ['more than anybody writes', page(`a: ${'x'.repeat(20_000)}`), 'bomb'],
    ['a tag that builds something', page('a: !!js/function "function () {}"'), 'invalid'],
    ['a key twice', page('a: 1', 'a: 2'), 'invalid'],
    ['a list', page('- a'), 'invalid'],
    ['no end', '---\nname: x\n', 'unclosed'],
    ['no beginning', 'name: x\n', 'none'],
  ])('with %s is not read, and nothing of it is run', (_, text, is) => {
    expect(withinSeconds(() => readFrontMatter(text)).is).toBe(is);
    expect(withinSeconds(() => bodyOf(text))).toContain(is === 'none' || is === 'unclosed' ? 'x' : 'body');
  });

  it.each<[string, string[], number, string]>([
    ['a colon in a plain text', ['name: x', 'description: Use when: asked'], 3, 'Nested mappings are not allowed in'],
    ['a bracket that is never closed', ['name: [x'], 2, 'Flow sequence in block collection'],
    ['a tab', ['name: x', '', 'a:', '\tb: 1'], 5, 'Tabs are not allowed as indentation'],
    ['a key twice', ['a: 1', 'b: 1', 'a: 2'], 4, 'Map keys must be unique'],
    ['a list', ['- a'], 2, 'not a mapping'],
  ])('with %s says on which line of the file, and what the reader said', (_, lines, line, detail) => {
    for (const text of [page(...lines), `\uFEFF${page(...lines).replaceAll('\n', '\r\n')}`]) {
      const read = readFrontMatter(text);
      expect(read).toMatchObject({ is: 'invalid', line, detail: expect.stringContaining(detail) as string });
      expect(JSON.stringify(read)).not.toContain('at line');
    }
  });

  it('is data even where its keys are the names of object members', () => {
    const read = readFrontMatter(page('__proto__: {polluted: true}', 'name: x'));
    expect(read).toMatchObject({ is: 'read', data: { name: 'x' } });
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
