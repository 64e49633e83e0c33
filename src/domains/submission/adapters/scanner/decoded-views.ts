import type { View } from './view.js';

/** A payload worth hiding is longer than these minimum lengths. Names, hashes and ids are shorter or do not decode to
 *  text. */
const BASE64 = /[A-Za-z0-9+/_-]{20,}={0,2}/g;
const HEX = /(?:[0-9a-fA-F]{2}){12,}/g;
const ESCAPED = /(?:\\x[0-9a-fA-F]{2}|\\[0-7]{3}|\\u00[0-9a-fA-F]{2}|%[0-9a-fA-F]{2}|&#x?[0-9a-fA-F]{2,3};){6,}/g;
const CODES = /(?:\b(?:0x[0-9a-fA-F]{2}|\d{2,3})\b[\s,]+){8,}(?:0x[0-9a-fA-F]{2}|\d{2,3})\b/g;
const CHARACTERS = /(?:chr\(\s*\d{2,3}\s*\)\s*[+.]\s*){4,}chr\(\s*\d{2,3}\s*\)/gi;

const DECODERS: readonly (readonly [RegExp, (encoded: string) => string])[] = [
  [BASE64, (encoded) => Buffer.from(encoded, 'base64').toString('latin1')],
  [HEX, (encoded) => Buffer.from(encoded, 'hex').toString('latin1')],
  [ESCAPED, decodeEscapes],
  [CODES, decodeCodes],
  [CHARACTERS, decodeCodes],
];

/** Levels of encoding that are undone, because an author may encode text that is encoded already. */
const MAX_DEPTH = 3;

/** Decodes all encoded parts of a text that decode to text again. There is one view for each depth, and each decoded
 *  line keeps the number of its line in the file. The amount is not bounded, because a part that was left out would be
 *  a place to hide. */
export function decodedViews(view: View): View[] {
  const found: View[] = [];
  let next = decodeOnce(view);
  while (next && found.push(next) < MAX_DEPTH) next = decodeOnce(next);
  return found;
}

function decodeOnce({ file, text, lines }: View): View | undefined {
  const decoded = text.split('\n').flatMap((whole, at) => {
    const texts = DECODERS.flatMap(([pattern, decode]) =>
      [...whole.matchAll(pattern)].map(([encoded]) => decode(encoded)),
    );
    return texts.filter(isText).flatMap((each) => each.split('\n').map((line) => ({ line, from: lines[at] ?? 1 })));
  });
  if (decoded.length === 0) return undefined;
  const all = decoded.map(({ line }) => line).join('\n');
  return { file, kind: 'decoded', text: all, lines: decoded.map(({ from }) => from) };
}

function decodeEscapes(encoded: string): string {
  return encoded.replace(/\\x(..)|\\u00(..)|%(..)|\\([0-7]{3})|&#(x?)([0-9a-fA-F]+);/g, (...parts: unknown[]) => {
    const [hex, octal, isHex, entity] = [parts[1] ?? parts[2] ?? parts[3], parts[4], parts[5], parts[6]] as (
      string | undefined
    )[];
    if (hex !== undefined) return String.fromCharCode(parseInt(hex, 16));
    if (octal !== undefined) return String.fromCharCode(parseInt(octal, 8));
    return String.fromCharCode(parseInt(entity ?? '0', isHex ? 16 : 10));
  });
}

function decodeCodes(encoded: string): string {
  const codes = encoded.match(/0x[0-9a-fA-F]{2}|\d{2,3}/g) ?? [];
  return codes.map((code) => String.fromCharCode(Number(code))).join('');
}

/** Whether the result has words, and is not noise that happens to be printable. */
function isText(decoded: string): boolean {
  return decoded.length >= 6 && /^[\x20-\x7E\s]+$/.test(decoded) && /[a-z]{2}/i.test(decoded);
}
