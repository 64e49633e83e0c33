import type { CountTokens } from './tokenizer.js';

/** The best places to cut a text have the highest numbers. */
export const BREAK = { inWord: 0, word: 1, sentence: 2, line: 3, paragraph: 4 } as const;

/** A word with the space behind it. Chunks are cut between atoms only. */
export interface Atom {
  start: number;
  end: number;
  tokens: number;
  /** How good a place to cut the end of the atom is. */
  breakAfter: number;
}

/** A longer run without a space is cut, because a tokenizer takes quadratic time for a run. No word is so long. */
const MAX_ATOM = 60;

/** Most words of a text come again. The bound keeps the memory of a text that has only new words. */
const MAX_KNOWN = 50_000;

export function atomsOf(text: string, countTokens: CountTokens): Atom[] {
  const known = new Map<string, number>();
  const atoms: Atom[] = [];
  for (const { start, end } of spansOf(text)) {
    const word = text.slice(start, end);
    let tokens = known.get(word);
    if (tokens === undefined) {
      tokens = countTokens(word);
      if (known.size < MAX_KNOWN) known.set(word, tokens);
    }
    atoms.push({ start, end, tokens, breakAfter: breakBehind(text, end, word) });
  }
  return atoms;
}

/** Every character is in exactly one span, in order. */
function* spansOf(text: string): Generator<{ start: number; end: number }> {
  const words = /\S+\s*|\s+/g;
  for (const { 0: word, index } of text.matchAll(words)) {
    for (let at = 0; at < word.length;) {
      const next = nextCut(word, at);
      yield { start: index + at, end: index + next };
      at = next;
    }
  }
}

/** Not between the halves of a surrogate pair. */
function nextCut(word: string, at: number): number {
  const next = Math.min(word.length, at + MAX_ATOM);
  return next < word.length && /[\ud800-\udbff]/.test(word.charAt(next - 1)) ? next - 1 : next;
}

function breakBehind(text: string, end: number, word: string): number {
  const space = /\s+$/.exec(word)?.[0] ?? '';
  if (/\n[^\S\n]*\n/.test(space)) return BREAK.paragraph;
  if (space.includes('\n')) return BREAK.line;
  if (/[。！？]$/.test(word) || (space !== '' && /[.!?…]["'”’)\]]*\s+$/.test(word))) return BREAK.sentence;
  return space !== '' || end === text.length ? BREAK.word : BREAK.inWord;
}
