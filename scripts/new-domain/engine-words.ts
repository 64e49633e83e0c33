import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** Workflows of former versions, which stand there until their runs have ended. */
const RETIRED = ['workflows/retired.ts', 'activities/retired.ts'];

/** The names under which the workflows' index exports them. */
const RETIRED_EXPORTS = /export \{[^}]*\} from '\.\/retired\.js';/g;

/** The engine's files that say a word of a domain, as paths below `src`. */
export function filesSaying(root: string, word: string): string[] {
  const src = join(root, 'src');
  return engineFiles(src)
    .filter((path) => hasWord(readFileSync(join(src, path), 'utf8').replace(RETIRED_EXPORTS, ''), word))
    .sort();
}

function engineFiles(src: string, folder = src): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return ['domains', 'generated'].includes(entry.name) ? [] : engineFiles(src, path);
    const name = relative(src, path);
    return name.endsWith('.ts') && !RETIRED.includes(name) ? [name] : [];
  });
}

/** Finds a word also inside a name: `skill` in `skillContents`, `listSkills` and `SKILL_KEPT`. */
export function hasWord(text: string, word: string): boolean {
  const title = `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
  return new RegExp(
    `(?<![a-zA-Z])${word}(?![a-z])|(?<=[a-z])${title}(?![a-z])|(?<![a-zA-Z])${word.toUpperCase()}(?![A-Z])|(?<![a-zA-Z])${title}(?![a-z])`,
  ).test(text);
}
