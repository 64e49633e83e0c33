import { parseDocument } from 'yaml';
import type { RuleHead } from './rule.js';
import { STRUCTURE } from './rules/structure.js';

/** Name and description are about a kilobyte; a reader's stack and time must not hang on what comes with them. */
const MAX_BYTES = 16 * 1_024;

/** Deeper than any list of tools; the YAML reader calls itself for every level. */
const MAX_DEPTH = 40;

interface Fault {
  rule: RuleHead;
  match: string;
}

/** Plain YAML, read as data alone: no tag builds an object, no language after the dashes is run. */
export function frontMatterHits(text: string): Fault[] {
  const opening = /^\uFEFF?---([^\n]*)\n/.exec(text);
  if (!opening) return [{ rule: STRUCTURE.noFrontMatter, match: '' }];
  const language = (opening[1] ?? '').trim();
  if (language) return [{ rule: STRUCTURE.codeFrontMatter, match: `---${language}` }];
  const rest = text.slice(opening[0].length);
  const end = /(?:^|\n)---[ \t]*\r?(?:\n|$)/.exec(rest);
  if (!end) return [{ rule: STRUCTURE.noFrontMatter, match: 'no closing ---' }];
  const source = rest.slice(0, end.index);
  if (source.length > MAX_BYTES) return [{ rule: STRUCTURE.bomb, match: `${String(source.length)} characters` }];
  return faultsOf(source);
}

function faultsOf(source: string): Fault[] {
  if (depthOf(source) > MAX_DEPTH) return [{ rule: STRUCTURE.bomb, match: 'nested too deeply' }];
  const document = parseDocument(source, { schema: 'core', merge: false, logLevel: 'silent' });
  const [fault] = [...document.errors, ...document.warnings];
  if (fault) return [{ rule: STRUCTURE.badFrontMatter, match: fault.message.split('\n', 1)[0] ?? '' }];
  let data: unknown;
  try {
    // A handful of aliases is somebody's style; a hundred is a bomb.
    data = document.toJS({ maxAliasCount: 10 });
  } catch (error) {
    return [{ rule: STRUCTURE.bomb, match: (error as Error).message }];
  }
  if (!isRecord(data)) return [{ rule: STRUCTURE.badFrontMatter, match: 'not a mapping' }];
  return [...nameFaults(data['name']), ...descriptionFaults(data['description'])];
}

function nameFaults(name: unknown): Fault[] {
  if (typeof name === 'string' && /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,63}$/u.test(name)) return [];
  return [{ rule: STRUCTURE.noName, match: typeof name === 'string' ? name : `${typeof name} as name` }];
}

function descriptionFaults(description: unknown): Fault[] {
  const length = typeof description === 'string' ? [...description.trim()].length : 0;
  return length >= 10 && length <= 1_024
    ? []
    : [{ rule: STRUCTURE.description, match: `${String(length)} characters` }];
}

/** Levels of brackets, and of indentation: a rough upper bound, before anything recursive reads it. */
function depthOf(source: string): number {
  let [open, deepest] = [0, 0];
  for (const character of source) {
    if (character === '[' || character === '{') deepest = Math.max(deepest, ++open);
    else if (character === ']' || character === '}') open--;
  }
  // "- - - -" and "? ? ?" nest without brackets.
  const compact = Math.max(
    0,
    ...source.split('\n').map((line) => (/^[\s?:-]*/.exec(line)?.[0] ?? '').replace(/[^?-]/g, '').length),
  );
  return Math.max(deepest, compact);
}

function isRecord(data: unknown): data is Record<string, unknown> {
  return typeof data === 'object' && data !== null && !Array.isArray(data);
}
