/** A file of a skill as text, as far as the rules that read it need to know it. */
export interface TextFile {
  path: string;
  text: string;
  isExecutable: boolean;
}

/** Where something stands, and the line it stands in. */
export interface Place {
  file: string;
  /** From 1. */
  line: number;
  text: string;
}

/** All that any program takes for the end of a line, so that nothing begins one unseen. */
const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;

/** Enough of a line to recognise it. */
const MAX_SHOWN = 200;

export function linesOf(text: string): string[] {
  return text.split(LINE_END);
}

/** Letters of other scripts that look like Latin ones, and those. */
const LOOK_ALIKES: ReadonlyMap<string, string> = new Map(
  [
    ['асԁеһіјоԛрѕԝхуАВЕНІЈКМОРСЅТХУ', 'acdehijoqpswxyABEHIJKMOPCSTXY'],
    ['αινορυΑΒΕΖΗΙΚΜΝΟΡΤΥΧ', 'aivopuABEZHIKMNOPTYX'],
  ].flatMap(([theirs = '', ours = '']) => [...theirs].map((letter, at) => [letter, ours[at] ?? letter] as const)),
);

/** More than thirty marks on one letter are nobody's writing (Unicode's stream-safe form has the same limit), and putting them in
 *  order takes the square of their number: minutes for a file of them. */
const MARKS_WITHOUT_END = /(\p{M}{30})\p{M}+/gu;

/** Single signs that stand for up to eighteen letters, none of them Latin: a file of them would be a book. */
const PHRASES = /[\uFDFA\uFDFB]/g;

/** As a person reads it: letters that only look different are the same, what is invisible is gone, and what was written in
 *  invisible letters follows at the end. A run of spaces is one, so that no pattern has to try them all. */
export function plainOf(text: string): string {
  // Most lines are plain ASCII, and there are many.
  if (/^[\x20-\x7e]*$/.test(text)) return text.replace(/ {2,}/g, ' ');
  const read = text
    .replace(MARKS_WITHOUT_END, '$1')
    .replace(PHRASES, ' ')
    .normalize('NFKC')
    .replace(/[\p{Script=Cyrillic}\p{Script=Greek}]/gu, (letter) => LOOK_ALIKES.get(letter) ?? letter)
    .replace(/[\p{Cf}\u034F\u115F\u1160\u3164\uFE00-\uFE0F]/gu, '');
  return `${read} ${smuggledIn(text)}`.replace(/\s+/g, ' ').trimEnd();
}

/** Tags are a second ASCII that no screen shows. */
function smuggledIn(text: string): string {
  const tags = text.match(/[\u{E0020}-\u{E007E}]/gu) ?? [];
  return tags.map((tag) => String.fromCodePoint((tag.codePointAt(0) ?? 0) - 0xe0000)).join('');
}

/** Shows what is invisible, so that it can neither hide nor act in what is printed or sent on. */
export function visibleOf(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu, (sign) =>
    sign === '\t' ? ' ' : `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** The first line of a file for which `test` holds. */
export function firstPlace(file: TextFile, test: (plainLine: string) => boolean): Place | undefined {
  const lines = linesOf(file.text);
  const at = lines.findIndex((line) => test(plainOf(line)));
  return at < 0 ? undefined : placeOf(file.path, at, lines[at] ?? '');
}

export function placeOf(file: string, index: number, line: string): Place {
  return { file, line: index + 1, text: visibleOf(startOf(line.trim())) };
}

/** Cut between characters: half of one would be shown as something that is not there. */
function startOf(line: string): string {
  return [...line.slice(0, 2 * MAX_SHOWN)].slice(0, MAX_SHOWN).join('');
}
