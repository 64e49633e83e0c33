import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** What the outputs were made from. Inside node_modules: a new installation makes everything again. */
const FILE = 'node_modules/.unstuck/stamps.json';

export function hasStamp({ root }, name, value) {
  return readStamps(root)[name] === value;
}

export function setStamp({ root }, name, value) {
  const file = join(root, FILE);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ ...readStamps(root), [name]: value }, null, 2));
}

/** One hash over the contents of files and, below folders, of every file that `matches`. */
export function hashOf({ root }, paths, matches = () => true) {
  const hash = createHash('sha256');
  for (const path of paths.flatMap((each) => filesIn(join(root, each), matches))) {
    hash.update(path.slice(root.length)).update('\0').update(readFileSync(path)).update('\0');
  }
  return hash.digest('hex');
}

function filesIn(path, matches) {
  if (!existsSync(path)) return [];
  const entries = readEntries(path);
  if (!entries) return [path];
  const sorted = entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  return sorted.flatMap((entry) => {
    const below = join(path, entry.name);
    if (entry.isDirectory()) return filesIn(below, matches);
    return matches(entry.name) ? [below] : [];
  });
}

function readEntries(path) {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (error) {
    if (error.code === 'ENOTDIR') return undefined;
    throw error;
  }
}

function readStamps(root) {
  try {
    return JSON.parse(readFileSync(join(root, FILE), 'utf8'));
  } catch {
    return {}; // none yet, or half written: everything is made again
  }
}
