import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { describe, expect, it } from 'vitest';
import { assertFree, namesOf } from '../../scripts/new-domain/names.js';
import { writeDomain } from '../../scripts/new-domain/write-domain.js';
import { tempDir } from '../start/temp-dir.js';
import { root } from './clone.js';

/** Made by set-up, or not part of the sources. */
const LEFT_OUT = ['.git', 'node_modules', 'dist', 'coverage', '.unstuck', join('src', 'db', 'generated')];

/** The whole repository with links to the packages. Its notes of what set-up made are its own. */
function copyRepository(): string {
  const copy = tempDir();
  cpSync(root, copy, { recursive: true, filter: (path) => !LEFT_OUT.includes(relative(root, path)) });
  const packages = join(copy, 'node_modules');
  mkdirSync(packages);
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name === '.unstuck') cpSync(join(root, 'node_modules', name), join(packages, name), { recursive: true });
    else symlinkSync(join(root, 'node_modules', name), join(packages, name));
  }
  return copy;
}

/** Every file of the copy that is not the repository's, and every file that differs from it. */
function changesIn(copy: string): string[] {
  const names = readdirSync(copy, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(copy, join(entry.parentPath, entry.name)));
  const ours = names.filter((name) => !LEFT_OUT.some((path) => name.startsWith(path + sep)));
  return ours.filter((name) => readOr(join(root, name)) !== readFileSync(join(copy, name), 'utf8')).sort();
}

function readOr(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Runs a program of the copy, with nothing in its environment that this run of vitest put there. */
async function run(copy: string, ...args: string[]): Promise<{ code: number; output: string }> {
  const environment = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST|NODE_ENV|NODE_OPTIONS|TINYPOOL)/.test(name)),
  );
  const child = spawn(process.execPath, args, { cwd: copy, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (output += part.toString()));
  const [code] = (await once(child, 'close')) as [number];
  return { code, output };
}

/** The files that the page shows whole: a path in backticks on a line of its own, and the block behind it. */
function filesOnPage(): [string, string][] {
  const page = readFileSync(join(root, 'docs/adding-a-domain.md'), 'utf8');
  const blocks = page.matchAll(/^`([^`\n]+)`:?\n\n```\w+\n([\s\S]*?)^```$/gm);
  return [...blocks].map(([, path = '', text = '']) => [path, text]);
}

describe('a new domain', () => {
  it('compiles, migrates and walks an item through its stages, its decision and the death of a worker', async () => {
    const copy = copyRepository();
    const written = await writeDomain(copy, namesOf('invoice'), new Date());

    expect(changesIn(copy)).toEqual([...written].sort());
    expect(written.filter((path) => readOr(join(root, path)) !== undefined)).toEqual([
      'src/domains/tables.ts',
      'src/domains/domains.ts',
      '.env.example',
      'docs/pipelines.md',
    ]);

    const shown = filesOnPage();
    expect(shown.map(([path]) => path)).toContain('src/domains/invoice/domain.ts');
    for (const [path, text] of shown) expect(readOr(join(copy, ...path.split('/'))), path).toBe(text);

    expect(await run(copy, 'scripts/setup.mjs')).toMatchObject({ code: 0 });
    const tests = await run(copy, 'scripts/test.mjs', 'test/domains/invoice', 'test/domains/pipelines-page.test.ts');
    expect(tests.output).toContain(' 0 failed, 0 skipped');
    expect(tests.code).toBe(0);
    const compiler = join('node_modules', 'typescript', 'bin', 'tsc');
    expect(await run(copy, compiler, '--noEmit', '-p', '.')).toEqual({ code: 0, output: '' });
    // Set-up, the compiler and an installation, on a machine that is busy with other tests.
  }, 900_000);
});

describe('the name of a new domain', () => {
  it('has a form for each place', () => {
    expect(namesOf('purchase-order')).toEqual({
      ...{ name: 'purchase-order', names: 'purchase-orders', camel: 'purchaseOrder', Camel: 'PurchaseOrder' },
      ...{ table: 'purchase_orders', ENV: 'PURCHASE_ORDER', spoken: 'purchase order', Spokens: 'Purchase orders' },
      ...{ a: 'a purchase order', A: 'A purchase order' },
    });
    expect(namesOf('inquiry')).toMatchObject({ names: 'inquiries', a: 'an inquiry' });
    expect(namesOf('box').names).toBe('boxes');
    expect(namesOf('person', 'people')).toMatchObject({ names: 'people', table: 'people', Spokens: 'People' });
  });

  it.each(['', 'Invoice', 'in_voice', '-invoice', '9lives', '../up', 'a'.repeat(31)])('is not %j', (name) => {
    expect(() => namesOf(name)).toThrow('is no name for a domain: use lower-case words');
  });

  it.each([
    ['class', undefined, 'is a word of the language'],
    ['maintenance', undefined, 'is the name of a task queue of the engine'],
    ['jobs-export', undefined, 'is the name of a task queue of the engine'],
    ['fish', 'fish', 'name another one with --plural'],
    ['fish', 'Fishes', "'Fishes' is no name"],
  ])('is not %s with the plural %s', (name, plural, reason) => {
    expect(() => namesOf(name, plural)).toThrow(reason);
  });

  it.each([
    ['canary', 'src/domains/canary exists already'],
    ['item', 'the database has a table or a model for item already'],
    ['receipt', 'the database has a table or a model for receipt already'],
    ['items', 'paths below /api/v1/items already'],
    ['canaries', 'paths below /api/v1/canaries already'],
    ['statement', 'is a word that the code of a domain uses itself'],
    ['delay', 'is a word that the code of a domain uses itself'],
    ['health', undefined],
    ['purchase-order', undefined],
    ['inflight', undefined],
  ])('may not be taken: %s', (name, reason) => {
    const check = () => assertFree(root, namesOf(name));
    if (reason === undefined) expect(check).not.toThrow();
    else expect(check).toThrow(reason);
  });

  it('may not have a plural that is a path of the API', () => {
    expect(() => assertFree(root, namesOf('plumbing', 'schedules'))).toThrow('paths below /api/v1/schedules already');
  });
});
