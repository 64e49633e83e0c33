import { linesOf, visibleOf } from '../../core/text/plain-text.js';
import type { Concern } from '../../ports/judge.js';
import { linesByPath, type Material } from './judge-material.js';

/** A concern as a judge words it; whether what it quotes is there, it can't decide. */
export interface ClaimedConcern extends Pick<Concern, 'criterion' | 'text'> {
  quote: { file: string; text: string } | null;
}

export interface CheckedConcerns {
  concerns: readonly Concern[];
  /** Quotes that are in none of the files they are said to be in. */
  invented: number;
}

/** Longest text of a concern, and longest quote, that is kept. */
const MAX_TEXT = 500;
const MAX_QUOTE = 300;

/** Drops what is quoted and not there. The concern itself stays: it is an opinion, and shown as one. */
export function checkedConcerns(all: readonly ClaimedConcern[], { files }: Material): CheckedConcerns {
  const claimed = all.filter(({ text }) => text.trim() !== '');
  const lines = linesByPath(files);
  const concerns = claimed.map(({ criterion, text, quote }) => ({
    criterion,
    text: cut(visibleOf(oneLine(text)), MAX_TEXT),
    quote: quote && foundQuote(quote, lines.get(quote.file) ?? []),
  }));
  const invented = concerns.filter((checked, at) => claimed[at]?.quote && !checked.quote).length;
  return { concerns, invented };
}

/** White space is not compared, for models do not keep it; everything else is, to the letter. */
function foundQuote({ file, text }: { file: string; text: string }, lines: readonly string[]): Concern['quote'] {
  const wanted = oneLine(linesOf(text).map(withoutNumber).join(' '));
  if (wanted === '') return null;
  const starts: number[] = [];
  let whole = '';
  for (const line of lines) {
    const shown = oneLine(visibleOf(line));
    starts.push(whole.length);
    if (shown !== '') whole += `${shown} `;
  }
  const at = whole.indexOf(wanted);
  if (at < 0) return null;
  return { file, line: starts.findLastIndex((start) => start <= at) + 1, text: cut(wanted, MAX_QUOTE) };
}

/** A judge that copies the number in front of a line means the line. */
function withoutNumber(line: string): string {
  return line.replace(/^\s*\d+\| /, '');
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}
