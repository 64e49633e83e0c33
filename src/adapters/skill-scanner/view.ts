import { readMarkdown } from './markdown.js';

/** One way of reading a file: as it stands, or as a shell, an eye or a decoder would make it out. */
export interface View {
  file: string;
  kind: 'plain' | 'folded' | 'joined' | 'decoded';
  text: string;
  /** Of each line of the text: the line of the file, from 1, that it comes from. */
  lines: readonly number[];
}

export function plainView(file: string, text: string): View {
  return { file, kind: 'plain', text, lines: text.split('\n').map((_, at) => at + 1) };
}

/** Longer than any paragraph; a file without an end of one must not become one line. */
const MAX_PARAGRAPH = 4_000;

/** Letters of other alphabets, and the Latin ones they look like. */
const FOREIGN = 'аеорсхуіѕјһԁԛԝАВЕКМНОРСТХοανΑΒΕΗΙΚΜΝΟΡΤΧ';
const LATIN = 'aeopcxyisjhdqwABEKMHOPCTXoavABEHIKMNOPTX';
const LOOKALIKES: ReadonlyMap<string, string> = new Map(
  [...FOREIGN].map((letter, at) => [letter, LATIN[at] ?? letter]),
);
const FOREIGN_LETTER = new RegExp(`[${FOREIGN}]`, 'gu');

/** What is not drawn: zero-width characters, bidi controls, soft hyphens, variation selectors. */
const UNDRAWN =
  /[\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFE00-\uFE0F\uFEFF\u{E0001}\u{E007F}\u{E0100}-\u{E01EF}]/gu;

/** Tag characters are an invisible copy of ASCII. */
const TAG = /[\u{E0020}-\u{E007E}]/gu;

/** The text without what is put between letters so that a pattern does not see them; undefined where that changes nothing. */
export function foldedView({ file, text, lines }: View): View | undefined {
  const folded: { text: string; line: number }[] = [];
  let goesOn = false;
  for (const [at, line] of text.split('\n').entries()) {
    const shown = foldShell(foldCharacters(line));
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

/** Markdown's paragraphs with their lines put together, as they are shown: a sentence goes on in the next line. */
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

function foldCharacters(line: string): string {
  if (/^[\x20-\x7E\t\r]*$/.test(line)) return line;
  return line
    .replace(TAG, (tag) => String.fromCodePoint((tag.codePointAt(0) ?? 0xe0020) - 0xe0000))
    .replace(UNDRAWN, '')
    .normalize('NFKC')
    .replace(FOREIGN_LETTER, (letter) => LOOKALIKES.get(letter) ?? letter);
}

/** What a shell takes away before it runs a line: empty quotes and backslashes inside words, the field separator. */
function foldShell(line: string): string {
  return line
    .replace(/\$\{IFS[^}]{0,20}\}|\$IFS(?:\$\d)?/g, ' ')
    .replace(/(\w)(?:""|'')(?=\w)/g, '$1')
    .replace(/([a-z])\\(?=[a-z])/g, (whole, letter: string, at: number) =>
      /[\\/:.]/.test(line[at - 1] ?? '') ? whole : letter,
    )
    .replace(/\b([a-z]{1,3})(["'])([a-z]{1,6})\2(?=[a-z\s]|$)/g, '$1$3');
}
