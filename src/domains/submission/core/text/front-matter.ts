import { parseDocument, type YAMLParseError, type YAMLWarning } from 'yaml';

/** A skill's front matter as it is written: its top-level keys, in lower case, with the text that belongs to each. */
export type FrontMatter = ReadonlyMap<string, string>;

/** What the front matter says, or why it can't be read: there is none, it is never closed, a language follows the dashes (which
 *  nobody runs here), it is made to be slow, or it is no YAML. */
export type FrontMatterRead =
  | { is: 'read'; data: Readonly<Record<string, unknown>> }
  | { is: 'none' | 'unclosed' | 'code' | 'bomb'; detail: string }
  | { is: 'invalid'; detail: string; /** Of the whole text, from 1. */ line: number };

/** Name and description are about a kilobyte; a reader's stack and time must not hang on what comes with them. */
const MAX_CHARACTERS = 16 * 1_024;

/** Deeper than any list of tools; the YAML reader calls itself for every level. */
const MAX_DEPTH = 40;

/** A handful of aliases is somebody's style; a hundred is a bomb. */
const MAX_ALIASES = 10;

/** Longer than any name or description that passes a scan. What is matched against a line is no cheaper than its length squared,
 *  and whoever submits writes the lines. */
const MAX_TEXT = 2_000;

type Split = { is: 'closed'; source: string; body: string } | { is: 'none' | 'unclosed' | 'code'; detail: string };

function splitOf(text: string): Split {
  const opening = /^\uFEFF?---([^\n]*)(?:\n|$)/.exec(text);
  if (!opening) return { is: 'none', detail: '' };
  const language = (opening[1] ?? '').trim();
  if (language) return { is: 'code', detail: `---${language}` };
  const rest = text.slice(opening[0].length);
  const end = /(?:^|\n)---[ \t]*\r?(?:\n|$)/.exec(rest);
  if (!end) return { is: 'unclosed', detail: 'no closing ---' };
  return { is: 'closed', source: rest.slice(0, end.index), body: rest.slice(end.index + end[0].length) };
}

/** Plain YAML, read as data alone: no tag builds an object, no language after the dashes is run. */
export function readFrontMatter(text: string): FrontMatterRead {
  const split = splitOf(text);
  if (split.is !== 'closed') return split;
  const { source } = split;
  if (source.length > MAX_CHARACTERS) return { is: 'bomb', detail: `${String(source.length)} characters` };
  if (depthOf(source) > MAX_DEPTH) return { is: 'bomb', detail: 'nested too deeply' };
  const document = parseDocument(source, { schema: 'core', resolveKnownTags: false, merge: false, logLevel: 'silent' });
  const [fault] = [...document.errors, ...document.warnings];
  if (fault) return invalidity(fault);
  let data: unknown;
  try {
    data = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    return { is: 'bomb', detail: (error as Error).message };
  }
  return isRecord(data) ? { is: 'read', data } : { is: 'invalid', detail: 'not a mapping', line: FIRST_LINE };
}

/** Of the front matter, below its dashes. */
const FIRST_LINE = 2;

/** The reader counts from the line below the dashes, and says so at the end of its first line. */
function invalidity({ message, linePos }: YAMLParseError | YAMLWarning): FrontMatterRead {
  const [first = ''] = message.split('\n', 1);
  const [at] = linePos ?? [];
  const column = at ? ` (column ${String(at.col)})` : '';
  const detail = first.replace(/ at line \d+, column \d+:?$/, '') + column;
  return { is: 'invalid', detail, line: FIRST_LINE - 1 + (at?.line ?? 1) };
}

/** The text of one key, for names and descriptions that can be had of any skill: where the front matter is no YAML, of which the
 *  scanner makes a finding, the rest of its line. */
export function frontMatterText(text: string, key: string): string {
  const read = readFrontMatter(text);
  if (read.is !== 'read') return plainValue(frontMatterOf(text).get(key) ?? '');
  const [, value] = Object.entries(read.data).find(([name]) => name.toLowerCase() === key) ?? [];
  return typeof value === 'string' || typeof value === 'number' ? String(value).trim().slice(0, MAX_TEXT) : '';
}

/** Finds keys line by line and never fails, so that any two texts can be compared. */
export function frontMatterOf(text: string): FrontMatter {
  const split = splitOf(text);
  return split.is === 'closed' ? keysOf(split.source.split(/\r?\n/)) : new Map();
}

/** The front matter as it is written; where it has no end, or is in another language, all that may belong to it. */
export function frontMatterSource(text: string): string {
  const split = splitOf(text);
  if (split.is === 'closed') return split.source;
  return split.is === 'none' ? '' : text;
}

/** What follows the front matter. */
export function bodyOf(text: string): string {
  const split = splitOf(text);
  return split.is === 'closed' ? split.body : text.replace(/^\uFEFF/, '');
}

function keysOf(lines: readonly string[]): FrontMatter {
  const found = new Map<string, string[]>();
  let value: string[] = [];
  for (const line of lines) {
    const [, name, rest = ''] = /^["']?([\w.-]+)["']?\s*:(?:\s+(.*))?$/.exec(line.slice(0, MAX_TEXT)) ?? [];
    if (name === undefined) {
      value.push(line.trimEnd());
    } else {
      value = [rest.trim()];
      found.set(name.toLowerCase(), value);
    }
  }
  return new Map([...found].map(([key, parts]) => [key, parts.join('\n').trim()]));
}

/** The first line of a value, without its quotes and comment. */
function plainValue(text: string): string {
  const [whole = ''] = text.split('\n', 1);
  const line = whole.slice(0, MAX_TEXT);
  const quoted = /^(["'])(.*)\1\s*(?:#.*)?$/.exec(line)?.[2];
  return quoted ?? line.replace(/\s#.*$/, '').trim();
}

/** Levels of brackets, and of indentation: a rough upper bound, before anything recursive reads it. */
function depthOf(source: string): number {
  let [open, deepest] = [0, 0];
  for (const character of source) {
    if (character === '[' || character === '{') deepest = Math.max(deepest, ++open);
    else if (character === ']' || character === '}') open--;
  }
  // "- - - -" and "? ? ?" nest without brackets.
  const compact = source
    .split('\n')
    .map((line) => (/^[\s?:-]*/.exec(line)?.[0] ?? '').replace(/[^?-]/g, '').length)
    .reduce((most, each) => Math.max(most, each), 0);
  return Math.max(deepest, compact);
}

function isRecord(data: unknown): data is Record<string, unknown> {
  return typeof data === 'object' && data !== null && !Array.isArray(data);
}
