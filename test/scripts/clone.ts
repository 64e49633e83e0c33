import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { tempDir } from '../start/temp-dir.js';

export const root = resolve(import.meta.dirname, '../..');

/** A folder with copies of some of our files, links to some of our packages, and a context for set-up's steps. */
export function cloneOf({ files = [], packages = [] }: { files?: string[]; packages?: string[] }) {
  const clone = tempDir();
  for (const file of files) cpSync(join(root, file), join(clone, file), { recursive: true, verbatimSymlinks: true });
  for (const name of packages) {
    const link = join(clone, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), link);
  }
  const said: string[] = [];
  return { root: clone, env: { ...process.env }, say: (line: string) => void said.push(line), said };
}
