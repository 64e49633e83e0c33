import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'docs/submissions.md'), 'utf8');

/** A test as the page names it. */
const NAMED = /`(test\/[^`]+\.test\.ts)` “([^”]+)”/g;

const named = [...page.matchAll(NAMED)].map(([, file = '', title = '']) => ({ file, title }));

/** The rows of all tables that name a proof. */
const rows = page
  .slice(page.indexOf('\n## What is promised'))
  .split('\n### ')
  .slice(1)
  .flatMap((section) =>
    section
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .slice(2),
  );

/** Whether the file has a test of that very name, in whatever quotes. */
function hasTest(file: string, title: string): boolean {
  if (!existsSync(join(root, file))) return false;
  const text = readFileSync(join(root, file), 'utf8');
  return [`'${title}'`, `"${title}"`, `\`${title}\``].some((quoted) => text.includes(quoted));
}

describe('docs/submissions.md', () => {
  it('names tests that are there', () => {
    expect(named.length).toBeGreaterThan(40);
    expect(named.filter(({ file, title }) => !hasTest(file, title))).toEqual([]);
  });

  it('names a test for each promise, or says that there is none yet', () => {
    expect(rows.length).toBeGreaterThan(40);
    expect(rows.filter((row) => !row.includes(' “') && !row.includes('Not shown yet'))).toEqual([]);
  });

  it('knows a test that is gone', () => {
    expect(hasTest('test/submissions-page.test.ts', 'names tests that are there')).toBe(true);
    expect(hasTest('test/submissions-page.test.ts', ['names tests', 'that are not there'].join(' '))).toBe(false);
    expect(hasTest('test/no-such.test.ts', 'names tests that are there')).toBe(false);
  });
});
