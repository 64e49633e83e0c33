import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('-proofs.md'));

/** A test as a page names it. */
const NAMED = /`(test\/[^`]+\.test\.ts)` “([^”]+)”/g;

function namedIn(page: string): { file: string; title: string }[] {
  return [...page.matchAll(NAMED)].map(([, file = '', title = '']) => ({ file, title }));
}

/** Each promise is an entry of a list, and the tests that show it are the entries below it. */
function promisesIn(page: string): string[] {
  return page.split(/^- /m).slice(1);
}

/** Whether the file has a test of that very name, in whatever quotes. */
function hasTest(file: string, title: string): boolean {
  if (!existsSync(join(root, file))) return false;
  const text = readFileSync(join(root, file), 'utf8');
  return [`'${title}'`, `"${title}"`, `\`${title}\``].some((quoted) => text.includes(quoted));
}

describe.each(pages)('docs/%s', (name) => {
  const page = readFileSync(join(root, 'docs', name), 'utf8');

  it('names tests that are there', () => {
    const named = namedIn(page);
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(({ file, title }) => !hasTest(file, title))).toEqual([]);
  });

  it('names a test for each promise, or says that there is none yet', () => {
    const promises = promisesIn(page);
    expect(promises.length).toBeGreaterThan(15);
    expect(promises.filter((each) => !each.includes(' “') && !each.includes('Not shown yet'))).toEqual([]);
  });
});

describe('the look for a named test', () => {
  it('knows a test that is gone', () => {
    expect(hasTest('test/proofs-pages.test.ts', 'names tests that are there')).toBe(true);
    expect(hasTest('test/proofs-pages.test.ts', ['names tests', 'that are not there'].join(' '))).toBe(false);
    expect(hasTest('test/no-such.test.ts', 'names tests that are there')).toBe(false);
  });
});
