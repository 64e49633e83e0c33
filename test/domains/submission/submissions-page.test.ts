import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'docs/submissions-proofs.md'), 'utf8');

/** A test as the page names it. */
const NAMED = /`(test\/[^`]+\.test\.ts)` “([^”]+)”/g;

const named = [...page.matchAll(NAMED)].map(([, file = '', title = '']) => ({ file, title }));

/** Each promise is an entry of a list, and the tests that show it are the entries below it. */
const promises = page.split(/^- /m).slice(1);

/** Whether the file has a test of that very name, in whatever quotes. */
function hasTest(file: string, title: string): boolean {
  if (!existsSync(join(root, file))) return false;
  const text = readFileSync(join(root, file), 'utf8');
  return [`'${title}'`, `"${title}"`, `\`${title}\``].some((quoted) => text.includes(quoted));
}

describe('docs/submissions-proofs.md', () => {
  it('names tests that are there', () => {
    expect(named.length).toBeGreaterThan(40);
    expect(named.filter(({ file, title }) => !hasTest(file, title))).toEqual([]);
  });

  it('names a test for each promise, or says that there is none yet', () => {
    expect(promises.length).toBeGreaterThan(40);
    expect(promises.filter((each) => !each.includes(' “') && !each.includes('Not shown yet'))).toEqual([]);
  });

  it('knows a test that is gone', () => {
    expect(hasTest('test/domains/submission/submissions-page.test.ts', 'names tests that are there')).toBe(true);
    expect(
      hasTest('test/domains/submission/submissions-page.test.ts', ['names tests', 'that are not there'].join(' ')),
    ).toBe(false);
    expect(hasTest('test/no-such.test.ts', 'names tests that are there')).toBe(false);
  });
});
