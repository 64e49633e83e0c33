import { compile, type YaraX } from '@litko/yara-x';
import type { TextRule } from './rule.js';
import type { View } from './view.js';

/** Without this bound, one pattern can take seconds on a file that matches everywhere. */
const MAX_MATCHES = 5;

/** How often the rest of a text is scanned again because all matches of a pattern so far were excused. */
const MAX_ROUNDS = 4;

/** Characters on either side of a match that the weighing function sees. */
const AROUND = 200;

export interface TextMatch {
  rule: TextRule;
  view: View;
  /** The line in the view's text, from 0. */
  line: number;
  match: string;
  before: string;
  after: string;
}

export type Weigh = (match: TextMatch) => 'counts' | 'excused';

export interface WeighedMatch {
  match: TextMatch;
  excused: boolean;
}

interface PlacedMatch {
  match: TextMatch;
  pattern: string;
  /** Byte offset at which the match ends. */
  end: number;
}

/** Runs all text rules in one pass of YARA-X. Excused matches are returned too, but they do not use up the bound,
 *  because five warnings would otherwise hide an attack. */
export function createTextEngine(rules: readonly TextRule[]) {
  const yara = compile(rules.map(sourceOf).join('\n'), { errorOnSlowPattern: true }) as YaraX;
  yara.setMaxMatchesPerPattern(MAX_MATCHES);

  return (view: View, weigh: Weigh): WeighedMatch[] => {
    const bytes = Buffer.from(view.text);
    const lineOf = createLineCounter(bytes);
    const found: WeighedMatch[] = [];
    let from = 0;
    for (let round = 0; round <= MAX_ROUNDS && from < bytes.length; round++) {
      const placed = matchesFrom(from).map((each) => ({
        ...each,
        // In the last round nothing is excused, because the text behind it is not scanned any more.
        excused: round < MAX_ROUNDS && weigh(each.match) === 'excused',
      }));
      found.push(...placed);
      from = endOfExcused(placed) ?? bytes.length;
    }
    return found;

    function matchesFrom(start: number): PlacedMatch[] {
      return yara.scan(bytes.subarray(start)).flatMap(({ ruleIdentifier, matches }) => {
        const rule = rules[Number(ruleIdentifier.slice(1))];
        if (!rule) return [];
        return matches.map(({ offset, length, identifier }) => {
          const [at, end] = [start + offset, start + offset + length];
          const match = {
            rule,
            view,
            line: lineOf(at),
            match: slice(bytes, at, end),
            ...surroundingsOf(bytes, at, end),
          };
          return { match, pattern: ruleIdentifier + identifier, end };
        });
      });
    }
  };
}

/** Where the next round begins: behind the matches of a pattern that reached the bound with excused matches alone. */
function endOfExcused(placed: readonly (PlacedMatch & { excused: boolean })[]): number | undefined {
  const patterns = new Map<string, { count: number; end: number }>();
  for (const { pattern, end } of placed) {
    const before = patterns.get(pattern);
    patterns.set(pattern, { count: (before?.count ?? 0) + 1, end: Math.max(before?.end ?? 0, end) });
  }
  for (const { pattern, excused } of placed) if (!excused) patterns.delete(pattern);
  const ends = [...patterns.values()].filter(({ count }) => count >= MAX_MATCHES).map(({ end }) => end);
  return ends.length > 0 ? Math.min(...ends) : undefined;
}

/** A rule is named by its number, because rule ids are not valid identifiers in YARA. */
function sourceOf({ patterns }: TextRule, number: number): string {
  const strings = patterns.map(({ source, flags }, at) => {
    const modifiers = flags.includes('i') ? ' nocase' : '';
    return `$p${at} = /${source}/${flags.includes('s') ? 's' : ''}${modifiers}`;
  });
  return `rule r${number} { strings: ${strings.join('\n')} condition: any of them }`;
}

function surroundingsOf(bytes: Buffer, start: number, end: number): { before: string; after: string } {
  return { before: slice(bytes, Math.max(0, start - AROUND), start), after: slice(bytes, end, end + AROUND) };
}

function slice(bytes: Buffer, start: number, end: number): string {
  return bytes.subarray(start, end).toString('utf8');
}

function createLineCounter(bytes: Buffer): (offset: number) => number {
  const starts = [0];
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) starts.push(at + 1);
  return (offset) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  };
}
