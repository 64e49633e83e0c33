import { plainOf } from '../../core/text/plain-text.js';
import { readMarkdown } from './markdown.js';

/** One reading of a file: the text as it is, or as a shell, a person or a decoder would read it. */
export interface View {
  file: string;
  kind: 'plain' | 'folded' | 'joined' | 'decoded';
  text: string;
  /** For each line of `text`, the line of the file, from 1, that it comes from. */
  lines: readonly number[];
}

export function plainView(file: string, text: string): View {
  return { file, kind: 'plain', text, lines: text.split('\n').map((_, at) => at + 1) };
}

/** Longer than any paragraph. Without a bound, a file without blank lines would become one line. */
const MAX_PARAGRAPH = 4_000;

/** The text without the characters that an author puts between letters to hide them from a pattern. Undefined: that
 *  changes nothing. */
export function foldedView({ file, text, lines }: View): View | undefined {
  const folded: { text: string; line: number }[] = [];
  let goesOn = false;
  for (const [at, line] of text.split('\n').entries()) {
    const shown = foldShell(/^[\x20-\x7E\t\r]*$/.test(line) ? line : plainOf(line));
    const last = folded.at(-1);
    if (goesOn && last) last.text += ` ${shown.trimStart()}`;
    else folded.push({ text: shown, line: lines[at] ?? 1 });
    goesOn = /\\\s*$/.test(line);
    const current = folded.at(-1);
    if (goesOn && current) current.text = current.text.replace(/\\\s*$/, '').trimEnd();
  }
  const result = folded.map((each) => each.text).join('\n');
  return result === text ? undefined : { file, kind: 'folded', text: result, lines: folded.map((each) => each.line) };
}

/** Joins the lines of each Markdown paragraph, as they are displayed, because a sentence may go on in the next line. */
export function joinedView({ file, text, lines }: View): View | undefined {
  if (!/\.(?:md|mdx|markdown|txt|rst)$/i.test(file)) return undefined;
  const { isProse } = readMarkdown(text);
  const joined: { text: string; line: number }[] = [];
  let goesOn = false;
  for (const [at, line] of text.split('\n').entries()) {
    const last = joined.at(-1);
    const isParagraph = isProse(at) && /^\s*[\p{L}`"'*_([<]/u.test(line) && !/^\s*\*\s/.test(line);
    if (goesOn && isParagraph && last && last.text.length < MAX_PARAGRAPH) last.text += ` ${line.trim()}`;
    else joined.push({ text: line, line: lines[at] ?? 1 });
    goesOn = isProse(at) && /\S/.test(line) && !/^\s*(?:#|\||---)/.test(line);
  }
  if (joined.length === lines.length) return undefined;
  return {
    file,
    kind: 'joined',
    text: joined.map((each) => each.text).join('\n'),
    lines: joined.map((each) => each.line),
  };
}

/** Removes what a shell removes before it runs a line: empty quotes and backslashes inside words, and the field
 *  separator. */
function foldShell(line: string): string {
  return line
    .replace(/\$\{IFS[^}]{0,20}\}|\$IFS(?:\$\d)?/g, ' ')
    .replace(/(\w)(?:""|'')(?=\w)/g, '$1')
    .replace(/([a-z])\\(?=[a-z])/g, (whole, letter: string, at: number) =>
      /[\\/:.]/.test(line[at - 1] ?? '') ? whole : letter,
    )
    .replace(/\b([a-z]{1,3})(["'])([a-z]{1,6})\2(?=[a-z\s]|$)/g, '$1$3');
}
