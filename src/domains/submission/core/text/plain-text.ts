/** A file of a skill as text, with the fields that the rules read. */
export interface TextFile {
  path: string;
  text: string;
  isExecutable: boolean;
}

/** A place in a file, with the text of its line. */
export interface Place {
  file: string;
  /** From 1. */
  line: number;
  text: string;
}

/** Every sequence that some program takes for the end of a line, so that no text can begin a line unseen. */
const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;

/** Characters of a line that are shown: enough to recognise it. */
const MAX_SHOWN = 200;

export function linesOf(text: string): string[] {
  return text.split(LINE_END);
}

/** Letters of other scripts that look like Latin letters, with the Latin letter for each. */
const LOOK_ALIKES: ReadonlyMap<string, string> = new Map(
  [
    ['асԁеһіјоԛрѕԝхуАВЕНІЈКМОРСЅТХУ', 'acdehijoqpswxyABEHIJKMOPCSTXY'],
    ['αινορυΑΒΕΖΗΙΚΜΝΟΡΤΥΧ', 'aivopuABEZHIKMNOPTYX'],
  ].flatMap(([theirs = '', ours = '']) => [...theirs].map((letter, at) => [letter, ours[at] ?? letter] as const)),
);

/** No language puts more than thirty marks on one letter (Unicode's stream-safe form has the same limit). Normalising
 *  orders the marks, which takes the square of their number: minutes for a file full of them. */
const MARKS_WITHOUT_END = /(\p{M}{30})\p{M}+/gu;

/** Single characters that NFKC expands to up to eighteen letters, of which no letter is Latin. A file full of them would
 *  become a book. */
const PHRASES = /[\uFDFA\uFDFB]/g;

/** The text as a person reads it. Letters that look alike become the same letter. Invisible characters are dropped, and
 *  text written in invisible letters is added at the end. A run of spaces becomes one space, so that no pattern has to
 *  try them all. */
export function plainOf(text: string): string {
  // The short way, because a skill has many lines and most are plain ASCII.
  if (/^[\x20-\x7e]*$/.test(text)) return text.replace(/ {2,}/g, ' ');
  const read = text
    .replace(MARKS_WITHOUT_END, '$1')
    .replace(PHRASES, ' ')
    .normalize('NFKC')
    .replace(/[\p{Script=Cyrillic}\p{Script=Greek}]/gu, (letter) => LOOK_ALIKES.get(letter) ?? letter)
    .replace(/[\p{Cf}\u034F\u115F\u1160\u3164\uFE00-\uFE0F]/gu, '');
  return `${read} ${smuggledTextOf(text)}`.replace(/\s+/g, ' ').trimEnd();
}

/** Unicode's tag characters are a second ASCII that no screen shows. */
function smuggledTextOf(text: string): string {
  const tags = text.match(/[\u{E0020}-\u{E007E}]/gu) ?? [];
  return tags.map((tag) => String.fromCodePoint((tag.codePointAt(0) ?? 0) - 0xe0000)).join('');
}

/** Spells out invisible characters, so that they can neither hide nor act where the text is printed or sent on. */
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

/** Cuts between characters, because half of a surrogate pair would be shown as another character. */
function startOf(line: string): string {
  return [...line.slice(0, 2 * MAX_SHOWN)].slice(0, MAX_SHOWN).join('');
}
