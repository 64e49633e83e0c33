/** A skill's front matter, as far as plain reading goes: its top-level keys, in lower case, with the text that belongs to each. */
export type FrontMatter = ReadonlyMap<string, string>;

export interface MarkdownParts {
  frontMatter: FrontMatter;
  body: string;
}

/** Not YAML: whether it is valid is the scanner's to say. This finds keys line by line and never fails, so that names and versions
 *  can be had of any text. */
export function partsOfMarkdown(text: string): MarkdownParts {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const end = lines[0]?.trimEnd() === '---' ? lines.findIndex((line, at) => at > 0 && line.trimEnd() === '---') : -1;
  if (end < 0) return { frontMatter: new Map(), body: lines.join('\n') };
  return { frontMatter: keysOf(lines.slice(1, end)), body: lines.slice(end + 1).join('\n') };
}

/** Longer than any name or description that passes a scan. What is matched against a line is no cheaper than its length squared,
 *  and whoever submits writes the lines. */
const MAX_LINE = 2_000;

function keysOf(lines: readonly string[]): FrontMatter {
  const found = new Map<string, string[]>();
  let value: string[] = [];
  for (const line of lines) {
    const [, name, rest = ''] = /^["']?([\w.-]+)["']?\s*:(?:\s+(.*))?$/.exec(line.slice(0, MAX_LINE)) ?? [];
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
export function plainValue(text: string): string {
  const [whole = ''] = text.split('\n', 1);
  const line = whole.slice(0, MAX_LINE);
  const quoted = /^(["'])(.*)\1\s*(?:#.*)?$/.exec(line)?.[2];
  return quoted ?? line.replace(/\s#.*$/, '').trim();
}
