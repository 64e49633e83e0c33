import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { DOMAINS } from '../../src/domains/domains.js';
import { root } from './clone.js';

const REGISTRIES = ['src/domains/tables.ts', 'src/domains/domains.ts'];

let copy = '';
afterEach(() => {
  rmSync(copy, { recursive: true, force: true });
});

/** The sources without one domain: its folder is left out, and so is each line of the registries that names it. */
function copyWithout(domain: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-without-'));
  const gone = join(root, 'src/domains', domain);
  cpSync(join(root, 'src'), join(folder, 'src'), { recursive: true, filter: (path) => path !== gone });
  for (const file of ['package.json', 'tsconfig.json', 'scripts']) {
    cpSync(join(root, file), join(folder, file), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const file of REGISTRIES) {
    const lines = readFileSync(join(folder, file), 'utf8').split('\n');
    writeFileSync(join(folder, file), lines.filter((line) => !line.includes(domain)).join('\n'));
  }
  return folder;
}

it.each(DOMAINS.map(({ name }) => name))(
  'the engine and the other domains compile without %s, with only the two registries edited',
  (domain) => {
    copy = copyWithout(domain);
    const config = { extends: './tsconfig.json', include: ['src'] };
    writeFileSync(join(copy, 'tsconfig.src.json'), JSON.stringify(config));

    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.src.json'], { cwd: copy });

    expect(stdout.toString()).toBe('');
    expect(status).toBe(0);
  },
  // The compiler reads every source and its packages.
  180_000,
);
