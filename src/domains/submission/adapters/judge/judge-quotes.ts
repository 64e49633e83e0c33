import { linesOf, visibleOf } from '../../core/text/plain-text.js';
import type { Concern } from '../../ports/judge.js';
import { linesByPath, type Material } from './judge-material.js';

/** A concern in the judge's words. Its quote is not checked yet. */
export interface ClaimedConcern extends Pick<Concern, 'criterion' | 'text'> {
  quote: { file: string; text: string } | null;
}

export interface CheckedConcerns {
  concerns: readonly Concern[];
  /** The number of quotes that are not in the file they claim to be from. */
  invented: number;
}

/** The longest text of a concern, and the longest quote, in characters. The rest is cut off. */
const MAX_TEXT = 500;
const MAX_QUOTE = 300;

/** Drops quotes that are not in the skill. The concern itself stays, because it is an opinion and is shown as an
 *  opinion. */
export function checkConcerns(all: readonly ClaimedConcern[], { files }: Material): CheckedConcerns {
  const claimed = all.filter(({ text }) => text.trim() !== '');
  const lines = linesByPath(files);
  const concerns = claimed.map(({ criterion, text, quote }) => ({
    criterion,
    text: cutText(visibleOf(oneLine(text)), MAX_TEXT),
    quote: quote && findQuote(quote, lines.get(quote.file) ?? []),
  }));
  const invented = concerns.filter((checked, at) => claimed[at]?.quote && !checked.quote).length;
  return { concerns, invented };
}

/** Ignores white space, because models do not keep it. Everything else must match to the letter. */
function findQuote({ file, text }: { file: string; text: string }, lines: readonly string[]): Concern['quote'] {
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
  return { file, line: starts.findLastIndex((start) => start <= at) + 1, text: cutText(wanted, MAX_QUOTE) };
}

/** A model may copy the line number that the prompt put in front of a line. */
function withoutNumber(line: string): string {
  return line.replace(/^\s*\d+\| /, '');
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function cutText(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}
