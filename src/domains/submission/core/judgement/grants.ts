import { frontMatterOf, readFrontMatter } from '../text/front-matter.js';
import { plainOf } from '../text/plain-text.js';

/** Front matter that grants something, by the names that one agent or another knows it under. */
const GRANTS =
  /^(?:allowed[-_ ]?tools|tools|permissions?|capabilities|scopes?|network|hosts|domains|env|mcp[-_]?servers)$/;

/** And that withholds something: less of it is more. */
const DENIALS = /^(?:disallowed|denied|deny|forbidden|blocked)(?:[-_ ]?(?:tools|permissions|hosts))?$/;

/** One value that stands, however deep, below a key of either kind. */
export interface Grant {
  /** The key that grants or withholds, in lower case. */
  key: string;
  /** The keys between that one and the value. */
  within: readonly string[];
  value: string;
  isDenied: boolean;
}

/** Everything that the values of front matter grant and withhold, however they are written down. */
export function grantsIn(data: unknown): Grant[] {
  return grantsBelow(data, { key: null, within: [], isDenied: false, above: [] });
}

interface Position extends Omit<Grant, 'key' | 'value'> {
  key: string | null;
  /** An alias may stand for what it stands in. */
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
  // "bash: false" is how a map says no.
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

export interface Granted {
  /** Whether the front matter could be read: otherwise the lines say what they can. */
  isKnown: boolean;
  /** Each with its key, as it is told to people. */
  allowed: ReadonlySet<string>;
  denied: ReadonlySet<string>;
}

/** What a SKILL.md asks for and rules out, word by word. */
export function grantedIn(text: string): Granted {
  const read = readFrontMatter(text);
  const grants = read.is === 'read' ? grantsIn(read.data) : [...frontMatterOf(text)].flatMap(grantOfLines);
  const wordsOfThose = (isDenied: boolean) =>
    new Set(grants.filter((each) => each.isDenied === isDenied).flatMap(toldOf));
  return {
    isKnown: read.is === 'read' || read.is === 'none',
    allowed: wordsOfThose(false),
    denied: wordsOfThose(true),
  };
}

function grantOfLines([key, value]: readonly [string, string]): Grant[] {
  const isDenied = DENIALS.test(key);
  return isDenied || GRANTS.test(key) ? [{ key, within: [], value, isDenied }] : [];
}

function toldOf({ key, within, value }: Grant): string[] {
  const words = wordsOf(value);
  const all = words.length === 0 && within.length > 0 ? [''] : words;
  return all.map((word) => `${key} ${[...within, word].filter(Boolean).join(': ')}`);
}

/** `Read, Bash(git add, git commit)`, a list in brackets or one with a dash for each: what is in round brackets stays together. */
function wordsOf(value: string): string[] {
  const words = value.match(/[^\s,[\]"'()]+(?:\([^)]*\)?)?/g) ?? [];
  // Neither the dash of a list, nor the sign of a text in several lines, asks for anything.
  return words.filter((word) => !/^(?:-|[>|][-+\d]*)$/.test(word) && !word.startsWith('#'));
}
