import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { partsOfMarkdown, plainValue } from '../../src/core/front-matter.js';

/** Neither `.` nor `$` matches it, so that a careless pattern tries every way to get past it. */
const LINE_SEPARATOR = '\u2028';

/** A test that blocks is not stopped by its time limit; this is. */
function withinSeconds<T>(read: () => T): T {
  return runInNewContext('read()', { read }, { timeout: 2_000 }) as T;
}

it('of many quotes, made to be slow, is read at once', () => {
  const text = `---\nname:\n"${'"#'.repeat(50_000)}${LINE_SEPARATOR}x\n---\n`;
  const name = withinSeconds(() => plainValue(partsOfMarkdown(text).frontMatter.get('name') ?? ''));
  expect(name).not.toBe('');
});

it.each([
  ['"pdf" # a name', 'pdf'],
  ["'pdf'", 'pdf'],
  ['pdf # a name', 'pdf'],
])('%s is %s', (written, value) => {
  expect(plainValue(written)).toBe(value);
});
