import { compile, type YaraX } from '@litko/yara-x';
import type { TextRule } from './rule.js';
import type { View } from './view.js';

/** Without a bound one pattern can take seconds over a file that matches everywhere. */
const MAX_MATCHES = 5;

/** So often the rest of a text is looked through again, where all matches of a pattern so far were excused. */
const MAX_ROUNDS = 20;

/** What is shown to those who weigh a match. */
const AROUND = 200;

export interface TextMatch {
  rule: TextRule;
  view: View;
  /** In the view's text, from 0. */
  line: number;
  match: string;
  before: string;
  after: string;
}

export type Weigh = (match: TextMatch) => 'counts' | 'excused';

/** All text rules in one pass of YARA-X. */
export function createTextEngine(rules: readonly TextRule[]) {
  const yara = compile(rules.map(sourceOf).join('\n'), { errorOnSlowPattern: true }) as YaraX;
  yara.setMaxMatchesPerPattern(MAX_MATCHES);

  /** Excused matches are given too; they never use up the bound, or five warnings would hide a deed. */
  return (view: View, weigh: Weigh): { match: TextMatch; excused: boolean }[] => {
    const bytes = Buffer.from(view.text);
    const found: { match: TextMatch; excused: boolean }[] = [];
    const lines = lineCounter(bytes);
    for (let from = 0, round = 0; from < bytes.length; round++) {
      let next = bytes.length;
      for (const { ruleIdentifier, matches } of yara.scan(bytes.subarray(from))) {
        const rule = rules[Number(ruleIdentifier.slice(1))];
        if (!rule) continue;
        const weighed = matches.map(({ offset, length }) => {
          const [start, end] = [from + offset, from + offset + length];
          const match = { rule, view, line: lines(start), match: slice(bytes, start, end), ...around(bytes, start, end) };
          return { match, excused: round < MAX_ROUNDS && weigh(match) === 'excused', end };
        });
        found.push(...weighed);
        for (const last of spentOn(matches)) {
          const ofPattern = weighed.filter((_, at) => matches[at]?.identifier === last);
          if (ofPattern.every(({ excused }) => excused)) next = Math.min(next, Math.max(...ofPattern.map(({ end }) => end)));
        }
      }
      from = round < MAX_ROUNDS ? Math.max(next, from + 1) : bytes.length;
    }
    return found;
  };
}

/** Patterns that reached the bound. */
function spentOn(matches: readonly { identifier: string }[]): Set<string> {
  const counts = new Map<string, number>();
  for (const { identifier } of matches) counts.set(identifier, (counts.get(identifier) ?? 0) + 1);
  return new Set([...counts].filter(([, count]) => count >= MAX_MATCHES).map(([identifier]) => identifier));
}

/** The rule's number is its name there: our ids are not YARA's identifiers. */
function sourceOf({ patterns }: TextRule, number: number): string {
  const strings = patterns.map(({ source, flags }, at) => {
    const modifiers = flags.includes('i') ? ' nocase' : '';
    return `$p${String(at)} = /${source}/${flags.includes('s') ? 's' : ''}${modifiers}`;
  });
  return `rule r${String(number)} { strings: ${strings.join('\n')} condition: any of them }`;
}

function around(bytes: Buffer, start: number, end: number): { before: string; after: string } {
  return { before: slice(bytes, Math.max(0, start - AROUND), start), after: slice(bytes, end, end + AROUND) };
}

function slice(bytes: Buffer, start: number, end: number): string {
  return bytes.subarray(start, end).toString('utf8');
}

function lineCounter(bytes: Buffer): (offset: number) => number {
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
