import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filesSaying, hasWord } from '../scripts/new-domain/engine-words.js';
import { DOMAINS } from '../src/domains/domains.js';
import { PIPELINES } from '../src/domains/tables.js';
import { assertNamesDiffer } from '../src/start/parts/assert-names-differ.js';

const root = join(import.meta.dirname, '..');
const src = join(root, 'src');
const test = join(root, 'test');

describe('the engine', () => {
  it.each(DOMAINS.flatMap(({ name, words }) => words.map((word) => [name, word] as const)))(
    'does not say a word of %s: %s',
    (_, word) => {
      expect(filesSaying(root, word)).toEqual([]);
    },
  );

  it('would be caught saying a word, also inside a name', () => {
    for (const text of ['a skill', 'skillContents', 'listSkills()', 'SKILL_KEPT', 'Skill', "'skill'"]) {
      expect(
        ['skill', 'skills'].some((word) => hasWord(text, word)),
        text,
      ).toBe(true);
    }
    for (const text of ['skillet', 'reskilled', 'SKILLET']) expect(hasWord(text, 'skill'), text).toBe(false);
  });
});

/** The domain in whose folder a test file stands; undefined for a test of the engine. */
function domainOf(file: string): string | undefined {
  return /^domains\/([^/]+)\//.exec(file)?.[1];
}

function testFiles(folder = test): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return testFiles(path);
    return entry.name.endsWith('.ts') ? [relative(test, path)] : [];
  });
}

/** The domains whose folders, in `src` or in `test`, a file imports from. */
function importedDomains(file: string, text: string): string[] {
  const imports = [...text.matchAll(/(?:\bfrom|\bimport) ?\(?'(\.{1,2}\/[^']+)'/g)].map(([, path = '']) => path);
  const paths = imports.map((path) => relative(root, join(test, dirname(file), path)));
  return paths.flatMap((path) => /^(?:src|test)\/domains\/([^/]+)\//.exec(path)?.[1] ?? []);
}

describe('a test', () => {
  // The canary is the sample domain, which the engine's tests may use.
  it('imports no domain but its own and the canary, so that a domain can be deleted with its own tests', () => {
    const names = DOMAINS.map(({ name }) => name);
    const foreign = testFiles().flatMap((file) => {
      const imported = importedDomains(file, readFileSync(join(test, file), 'utf8'));
      const others = imported.filter(
        (domain) => names.includes(domain) && domain !== 'canary' && domain !== domainOf(file),
      );
      return others.map((domain) => `${file} imports ${domain}`);
    });
    expect(foreign).toEqual([]);
  });

  it('would be caught importing another domain', () => {
    const imports = [
      `import { table } from '../../src/domains/sample/table.js';`,
      `import type { Kept } from '../../src/domains/sample/db/keeps.js';`,
      `export { make } from '../domains/sample/support/samples.js';`,
      `const { page } = await import('../../src/domains/sample/activities/page.js');`,
    ];
    for (const text of imports) expect(importedDomains('db/x.test.ts', text), text).toEqual(['sample']);
    expect(importedDomains('domains/other/x.test.ts', `import { a } from '../sample/support/a.js';`)).toEqual([
      'sample',
    ]);
    expect(importedDomains('db/x.test.ts', `import { PIPELINES } from '../../src/domains/tables.js';`)).toEqual([]);
  });
});

describe('the registries', () => {
  it('list the same pipelines', () => {
    expect(DOMAINS.flatMap(({ tables }) => tables.map(({ name }) => name))).toEqual(Object.keys(PIPELINES));
  });

  it('list every domain that has a folder', () => {
    const entries = readdirSync(join(src, 'domains'), { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    expect(DOMAINS.map(({ name }) => name).sort()).toEqual(folders.sort());
  });

  it('list no domain twice', () => {
    expect(new Set(DOMAINS.map(({ name }) => name)).size).toBe(DOMAINS.length);
  });

  it('list no two jobs, keeps or follows with one name', () => {
    expect(() => assertNamesDiffer(DOMAINS)).not.toThrow();
  });
});
