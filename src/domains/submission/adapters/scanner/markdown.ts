/** A fenced block. Agents run the code in it. */
export interface Fence {
  /** The word after the opening fence, in lower case; '' if there is none. */
  language: string;
  /** The line, from 0, on which the code begins. */
  firstLine: number;
  code: string;
}

export interface Markdown {
  fences: Fence[];
  /** Whether a line, counted from 0, is prose: neither in a fence nor in an HTML comment. */
  isProse(line: number): boolean;
}

const FENCE = /^[ \t>*+-]*(`{3,}|~{3,})[ \t]*\{?\.?([\w+#-]*)/;

/** Finds only where code and comments begin and end. A fence or comment that is not closed reaches to the end of the
 *  file. */
export function readMarkdown(text: string): Markdown {
  const lines = text.split('\n');
  const hidden = new Set<number>(commentLines(text));
  const fences: Fence[] = [];
  let open: { mark: string; language: string; firstLine: number } | undefined;
  for (const [at, line] of lines.entries()) {
    const found = FENCE.exec(line);
    if (open) {
      hidden.add(at);
      if (!found?.[1]?.startsWith(open.mark) && at < lines.length - 1) continue;
      const end = found?.[1]?.startsWith(open.mark) ? at : at + 1;
      fences.push({
        language: open.language,
        firstLine: open.firstLine,
        code: lines.slice(open.firstLine, end).join('\n'),
      });
      open = undefined;
    } else if (found?.[1]) {
      hidden.add(at);
      open = { mark: found[1], language: (found[2] ?? '').toLowerCase(), firstLine: at + 1 };
    }
  }
  return { fences, isProse: (line) => !hidden.has(line) };
}

function* commentLines(text: string): Generator<number> {
  let [from, line] = [0, 0];
  for (;;) {
    const start = text.indexOf('<!--', from);
    if (start < 0) return;
    const end = text.indexOf('-->', start);
    const stop = end < 0 ? text.length : end;
    line += newlinesIn(text.slice(from, start));
    yield line;
    for (const last = line + newlinesIn(text.slice(start, stop)); line < last;) yield ++line;
    from = stop;
  }
}

function newlinesIn(text: string): number {
  return text.split('\n').length - 1;
}
