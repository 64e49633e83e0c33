import fc from 'fast-check';
import { countTokens as countWith } from 'gpt-tokenizer/encoding/cl100k_base';
import { describe, expect, it } from 'vitest';
import type { TextPart } from '../../../../../src/domains/file/core/part.js';
import { splitParts } from '../../../../../src/domains/file/core/split/split-parts.js';

const countTokens = (text: string): number => countWith(text, { disallowedSpecial: new Set() });

const split = (parts: readonly TextPart[]) => splitParts(parts, countTokens);

const word = fc.oneof(
  fc.string({ minLength: 1, maxLength: 12 }),
  fc.string({ minLength: 1, maxLength: 300, unit: 'binary' }),
  fc.constantFrom(
    '# Heading',
    '## Below',
    '```',
    '<|endoftext|>',
    '日本語のテキスト。',
    'a'.repeat(700),
    '😀😀',
    'end.',
  ),
);
const space = fc.constantFrom(' ', '  ', '\n', '\n\n', '\t', '');
const text = fc
  .array(fc.tuple(word, space), { maxLength: 250 })
  .map((pairs) => pairs.map((pair) => pair.join('')).join(''));
const kind = fc.constantFrom('text', 'markdown', 'code', 'table');
const part: fc.Arbitrary<TextPart> = fc.record(
  { kind, text, header: fc.string({ maxLength: 60 }), page: fc.nat(9) },
  { requiredKeys: ['kind', 'text'] },
);

/** All that can be seen of a text, in order. */
function seen(whole: string): string {
  return whole.replace(/\s+/g, '');
}

/** Whether the chunks, laid over one another where they overlap, cover the text from its beginning to its end. Of several places that
 *  look alike a chunk is taken for the last that leaves no gap. */
function covers(whole: string, chunks: readonly string[]): boolean {
  const text = seen(whole);
  let covered = 0;
  for (const chunk of chunks.map(seen)) {
    const at = text.lastIndexOf(chunk, covered);
    if (at < 0) return false;
    covered = Math.max(covered, at + chunk.length);
  }
  return covered === text.length;
}

describe('splitting', () => {
  it('is known to cover a text whose headings are alike, and not to cover one with a gap or in another order', () => {
    expect(covers('! # Heading\n# Heading ', ['! # Heading', '# Heading'])).toBe(true);
    expect(covers('one two three', ['one', 'three'])).toBe(false);
    expect(covers('one two three', ['two', 'one', 'three'])).toBe(false);
  });

  it('loses nothing of a text and keeps its order', () => {
    fc.assert(
      fc.property(fc.constantFrom('text', 'markdown', 'code'), text, (kind, whole) => {
        const chunks = split([{ kind, text: whole }]).map((chunk) => chunk.text);
        expect(covers(whole, chunks)).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  it('gives no chunk over 512 tokens and no empty chunk, whatever the parts are', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 3 }), (parts) => {
        for (const chunk of split(parts)) {
          expect(chunk.text.trim()).not.toBe('');
          expect(chunk.tokens).toBe(countTokens(chunk.text));
          expect(chunk.tokens).toBeLessThanOrEqual(512);
        }
      }),
      { numRuns: 150 },
    );
  });

  it('repeats the header above the rows of every chunk of a table, and keeps every row once', () => {
    const rows = Array.from({ length: 400 }, (_, at) => `${at}\tname of ${at}\t${at * 17}`);
    const chunks = split([{ kind: 'table', title: 'Sheet', page: 2, header: 'no\tname\tsum', text: rows.join('\n') }]);

    expect(chunks.length).toBeGreaterThan(5);
    for (const chunk of chunks) expect(chunk).toMatchObject({ title: 'Sheet', page: 2 });
    for (const chunk of chunks) expect(chunk.text.split('\n')[0]).toBe('no\tname\tsum');
    expect(chunks.flatMap((chunk) => chunk.text.split('\n').slice(1))).toEqual(rows);
  });

  it('cuts a row that is longer than a chunk, below the header', () => {
    const row = Array.from({ length: 900 }, (_, at) => `cell${at}`).join('\t');
    const chunks = split([{ kind: 'table', header: 'all', text: `first\n${row}\nlast` }]);

    expect(chunks.length).toBeGreaterThan(3);
    for (const chunk of chunks) expect(chunk.text.startsWith('all\n')).toBe(true);
    expect(
      covers(
        `first${row}last`,
        chunks.map((chunk) => chunk.text.slice(4)),
      ),
    ).toBe(true);
  });

  it('takes a header that would fill the chunks for a row', () => {
    const header = Array.from({ length: 600 }, (_, at) => `column ${at}`).join('\t');
    const chunks = split([{ kind: 'table', header, text: 'a\tb' }]);
    expect(
      covers(
        `${header}a\tb`,
        chunks.map((chunk) => chunk.text),
      ),
    ).toBe(true);
  });

  it('titles chunks of Markdown with the path of their headings, and leaves no heading alone', () => {
    const markdown = '# Guide\n\n## Install\nRun it.\n\n```\n# no heading\n```\n## Use\n### Fast\nGo.\n# End\nBye.';
    expect(split([{ kind: 'markdown', text: markdown }]).map(({ title, text: own }) => [title, own])).toEqual([
      ['Guide > Install', '# Guide\n\n## Install\nRun it.\n\n```\n# no heading\n```'],
      ['Guide > Use > Fast', '## Use\n### Fast\nGo.'],
      ['End', '# End\nBye.'],
    ]);
  });

  it('cuts at the end of paragraphs where it can', () => {
    const paragraphs = Array.from({ length: 40 }, (_, at) => `This is paragraph ${at}, alone. `.repeat(12).trim());
    const chunks = split([{ kind: 'text', text: paragraphs.join('\n\n') }]);

    expect(chunks.length).toBeGreaterThan(5);
    for (const { text: own } of chunks) expect(paragraphs).toContain(own.slice(own.lastIndexOf('\n') + 1));
  });

  it('begins a chunk with up to 50 tokens of the chunk before it', () => {
    const words = Array.from({ length: 3_000 }, (_, at) => `w${at}`);
    const chunks = split([{ kind: 'text', text: words.join(' ') }]).map((chunk) => chunk.text.split(' '));
    for (const [at, own] of chunks.entries()) {
      const before = chunks[at - 1];
      if (!before) continue;
      const shared = before.slice(before.indexOf(own[0] ?? ''));
      expect(before.indexOf(own[0] ?? '')).toBeGreaterThan(0);
      expect(own.slice(0, shared.length)).toEqual(shared);
      expect(countTokens(shared.join(' '))).toBeLessThanOrEqual(55);
    }
  });

  it.each([
    ['without a space', 'a'.repeat(2_000_000)],
    ['of words', 'lorem ipsum dolor '.repeat(110_000)],
    ['of CJK', '本日は晴天なり'.repeat(40_000)],
    ['of emoji', '👩‍👩‍👧‍👦'.repeat(20_000)],
  ])('takes a line of megabytes %s in linear time', (_, line) => {
    const startedAt = performance.now();
    const chunks = split([{ kind: 'text', text: line }]);
    // Quadratic time would be minutes. Linear time is about two seconds.
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    expect(chunks.length).toBeGreaterThan(100);
  });

  it('stops at 20,000 chunks', () => {
    const parts = Array.from({ length: 20_010 }, (_, at): TextPart => ({ kind: 'text', text: `part ${at}` }));
    expect(split(parts)).toHaveLength(20_000);
  });
});

it('splits a Markdown text of very many short sections, up to the most chunks that are kept', () => {
  const text = Array.from({ length: 130_000 }, (_, n) => `# ${n}\nx\n`).join('');
  expect(splitParts([{ kind: 'markdown', text }], (piece) => piece.length)).toHaveLength(20_000);
});
