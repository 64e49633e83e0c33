import { frontMatterOf, readFrontMatter } from '../text/front-matter.js';
import { plainOf } from '../text/plain-text.js';

/** Keys of the front matter that grant a right. Each is known to one agent or another. */
const GRANTS =
  /^(?:allowed[-_ ]?tools|tools|permissions?|capabilities|scopes?|network|hosts|domains|env|mcp[-_]?servers)$/;

/** Keys that withhold a right. A skill with fewer of these values has more rights. */
const DENIALS = /^(?:disallowed|denied|deny|forbidden|blocked)(?:[-_ ]?(?:tools|permissions|hosts))?$/;

/** One value below a key that grants or withholds, at any depth. */
export interface Grant {
  /** The key that grants or withholds, in lower case. */
  key: string;
  /** The keys between `key` and the value. */
  within: readonly string[];
  value: string;
  isDenied: boolean;
}

/** All rights that the front matter grants and withholds, in whatever YAML form they are written. */
export function grantsIn(data: unknown): Grant[] {
  return grantsBelow(data, { key: null, within: [], isDenied: false, above: [] });
}

interface Position extends Omit<Grant, 'key' | 'value'> {
  key: string | null;
  /** The nodes on the way here. An alias may point to a node that contains it, which would never end. */
  above: readonly object[];
}

function grantsBelow(node: unknown, at: Position): Grant[] {
  if (typeof node === 'object' && node !== null) {
    if (at.above.includes(node)) return [];
    const below = { ...at, above: [...at.above, node] };
    return Array.isArray(node)
      ? node.flatMap((each) => grantsBelow(each, below))
      : Object.entries(node).flatMap(([name, value]) => grantsBelow(value, positionOf(name, below)));
  }
  if (at.key === null) return [];
  const { key, within } = at;
  // In a map, "bash: false" withholds.
  const isDenied = at.isDenied || (node === false && within.length > 0);
  return [{ key, within, value: textOf(node), isDenied }];
}

function textOf(scalar: unknown): string {
  return typeof scalar === 'string' ? scalar : JSON.stringify(scalar ?? '').replace(/^""$/, '');
}

function positionOf(name: string, at: Position): Position {
  const key = plainOf(name).trim().toLowerCase();
  if (DENIALS.test(key) && !at.isDenied) return { ...at, key, within: [], isDenied: true };
  if (at.key !== null) return { ...at, within: [...at.within, name] };
  return GRANTS.test(key) ? { ...at, key } : at;
}

export interface SkillGrants {
  /** Whether the front matter could be read as YAML. If not, the grants are guessed line by line. */
  isKnown: boolean;
  /** Each word with its key, as people are told of it. */
  allowed: ReadonlySet<string>;
  denied: ReadonlySet<string>;
}

/** The rights that a SKILL.md asks for and rules out, word by word. */
export function skillGrantsOf(text: string): SkillGrants {
  const read = readFrontMatter(text);
  const grants = read.is === 'read' ? grantsIn(read.data) : [...frontMatterOf(text)].flatMap(grantOfLines);
  const wordsWhere = (isDenied: boolean) =>
    new Set(grants.filter((each) => each.isDenied === isDenied).flatMap(labelsOf));
  return {
    isKnown: read.is === 'read' || read.is === 'none',
    allowed: wordsWhere(false),
    denied: wordsWhere(true),
  };
}

function grantOfLines([key, value]: readonly [string, string]): Grant[] {
  const isDenied = DENIALS.test(key);
  return isDenied || GRANTS.test(key) ? [{ key, within: [], value, isDenied }] : [];
}

function labelsOf({ key, within, value }: Grant): string[] {
  const words = wordsOf(value);
  const all = words.length === 0 && within.length > 0 ? [''] : words;
  return all.map((word) => `${key} ${[...within, word].filter(Boolean).join(': ')}`);
}

/** Splits `Read, Bash(git add, git commit)`, a list in brackets or a list with dashes. Text in round brackets stays
 *  with its word. */
function wordsOf(value: string): string[] {
  const words = value.match(/[^\s,[\]"'()]+(?:\([^)]*\)?)?/g) ?? [];
  // The dash of a list and the mark of a block of text are not words.
  return words.filter((word) => !/^(?:-|[>|][-+\d]*)$/.test(word) && !word.startsWith('#'));
}
