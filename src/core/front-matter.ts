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

function keysOf(lines: readonly string[]): FrontMatter {
  const found = new Map<string, string>();
  let key: string | undefined;
  for (const line of lines) {
    const [, name, value = ''] = /^["']?([\w.-]+)["']?\s*:(?:\s+(.*))?$/.exec(line) ?? [];
    if (name !== undefined) {
      key = name.toLowerCase();
      found.set(key, value.trim());
    } else if (key !== undefined) {
      found.set(key, `${found.get(key) ?? ''}\n${line.trimEnd()}`.trim());
    }
  }
  return found;
}

/** A one-line value without its quotes and comment. */
export function plainValue(text: string): string {
  const quoted = /^(["'])(.*)\1\s*(?:#.*)?$/.exec(text)?.[2];
  return quoted ?? text.replace(/\s#.*$/, '').trim();
}
