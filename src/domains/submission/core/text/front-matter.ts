import { parseDocument, type YAMLParseError, type YAMLWarning } from 'yaml';

/** A skill's front matter as text: its top-level keys, in lower case, each with its text. */
export type FrontMatter = ReadonlyMap<string, string>;

/** The data of the front matter, or why it can't be read. none: there is no front matter. unclosed: its closing dashes
 *  are missing. code: a language follows the dashes, and that code is never run here. bomb: it is made to be slow.
 *  invalid: it is not YAML. */
export type FrontMatterRead =
  | { is: 'read'; data: Readonly<Record<string, unknown>> }
  | { is: 'none' | 'unclosed' | 'code' | 'bomb'; detail: string }
  | { is: 'invalid'; detail: string; /** In the whole text, from 1. */ line: number };

/** Name and description take about a kilobyte. The bound keeps other content from using up the reader's stack and
 *  time. */
const MAX_CHARACTERS = 16 * 1_024;

/** Deeper than any list of tools. The YAML reader calls itself for every level, so depth must be bounded. */
const MAX_DEPTH = 40;

/** An author may use a handful of aliases. A hundred are a bomb. */
const MAX_ALIASES = 10;

/** Longer than any name or description that passes a scan. Matching a pattern against a line may cost its length
 *  squared, and the submitter chooses how long a line is. */
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

/** Reads plain YAML as data alone: no tag builds an object, and a language after the dashes is not run. */
export function readFrontMatter(text: string): FrontMatterRead {
  const split = splitOf(text);
  if (split.is !== 'closed') return split;
  const { source } = split;
  if (source.length > MAX_CHARACTERS) return { is: 'bomb', detail: `${source.length} characters` };
  if (depthOf(source) > MAX_DEPTH) return { is: 'bomb', detail: 'nested too deeply' };
  const document = parseDocument(source, { schema: 'core', resolveKnownTags: false, merge: false, logLevel: 'silent' });
  const [fault] = [...document.errors, ...document.warnings];
  if (fault) return invalidReadOf(fault);
  let data: unknown;
  try {
    data = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    return { is: 'bomb', detail: (error as Error).message };
  }
  return isRecord(data) ? { is: 'read', data } : { is: 'invalid', detail: 'not a mapping', line: FIRST_LINE };
}

/** The first line of the front matter below its dashes. */
const FIRST_LINE = 2;

/** The YAML reader counts lines from below the dashes, and ends the first line of its message with a position. The
 *  position is cut off, because its line is wrong for the whole text. */
function invalidReadOf({ message, linePos }: YAMLParseError | YAMLWarning): FrontMatterRead {
  const [first = ''] = message.split('\n', 1);
  const [at] = linePos ?? [];
  const column = at ? ` (column ${at.col})` : '';
  const detail = first.replace(/ at line \d+, column \d+:?$/, '') + column;
  return { is: 'invalid', detail, line: FIRST_LINE - 1 + (at?.line ?? 1) };
}

/** The text of one key, such as the name or the description. Where the front matter is not YAML, it is the rest of the
 *  key's line, so that every skill has a name and a description; the scanner reports the broken YAML. */
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

/** The front matter as it is written. Where it has no end, or is in another language, the whole text may belong to
 *  it. */
export function frontMatterSource(text: string): string {
  const split = splitOf(text);
  if (split.is === 'closed') return split.source;
  return split.is === 'none' ? '' : text;
}

/** The text after the front matter. */
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

/** A rough upper bound of the levels of brackets and indentation, taken before any recursive reader sees the source. */
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
