import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildStep } from '../../scripts/build.mjs';
import { cloneOf } from './clone.js';

function setup(source: string) {
  const clone = cloneOf({
    files: ['package.json', 'tsconfig.json', 'tsconfig.build.json'],
    packages: ['typescript', '@types/node', 'undici-types'],
  });
  mkdirSync(join(clone.root, 'src'));
  const write = (code: string) => writeFileSync(join(clone.root, 'src', 'main.ts'), code);
  write(source);
  return { ...clone, write, compiled: () => readFileSync(join(clone.root, 'dist', 'main.js'), 'utf8') };
}

/** A compiler takes a second, and many on a busy machine. */
describe('compiling', { timeout: 120_000 }, () => {
  it('is done when a source has changed, and only then', async () => {
    const clone = setup('export const one: number = 1;\n');
    expect(buildStep.isNeeded(clone)).toBe(true);

    await buildStep.run(clone);
    expect(clone.compiled()).toContain('one = 1;');
    expect(buildStep.isNeeded(clone)).toBe(false);

    clone.write('export const one: number = 2;\n');
    expect(buildStep.isNeeded(clone)).toBe(true);

    await buildStep.run(clone);
    expect(clone.compiled()).toContain('one = 2;');
  });

  it('is not taken for done when the compiler finds errors', async () => {
    const clone = setup(`export const one: number = 'one';\n`);

    await expect(buildStep.run(clone)).rejects.toThrow('the compiler found errors (above).');

    expect(buildStep.isNeeded(clone)).toBe(true);
    expect(existsSync(join(clone.root, 'node_modules/.unstuck/stamps.json'))).toBe(false);
  });
});
