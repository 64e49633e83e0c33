import type { FlowRule } from './rule.js';
import type { View } from './view.js';

/** A line of code is shorter. The rest of a longer line is taken for data. */
const MAX_LINE = 500;
/** The most lines of a literal from its opening bracket to the value. */
const MAX_LITERAL = 8;

interface FlowMatch {
  rule: FlowRule;
  view: View;
  line: number;
  match: string;
}

/** Follows a value by the name of its variable, without parsing the language, which is enough for short scripts. */
export function flowHits(rules: readonly FlowRule[], view: View): FlowMatch[] {
  const lines = view.text.split('\n').map((line) => line.slice(0, MAX_LINE));
  return rules.flatMap((rule) =>
    lines.flatMap((text, at) => {
      if (!rule.source.test(text)) return [];
      const name = variableAt(lines, at);
      const line = lines.findIndex(
        (each, later) => isSink(rule, each, name) && later >= at && later - at <= rule.withinLines,
      );
      return line < 0 ? [] : [{ rule, view, line, match: (lines[line] ?? '').trim() }];
    }),
  );
}

/** The variable that this line assigns, or the variable of the literal that the line is part of. */
function variableAt(lines: readonly string[], at: number): string | undefined {
  const own = /^\s*(?:const|let|var)?\s*(\w+)\s*=[^=]/.exec(lines[at] ?? '')?.[1];
  if (own) return own;
  const opening = lines
    .slice(Math.max(0, at - MAX_LITERAL), at)
    .map((line) => /^\s*(?:const|let|var)?\s*(\w+)\s*=\s*[[{(]\s*$/.exec(line)?.[1])
    .filter((name) => name !== undefined);
  return opening.at(-1);
}

/** Whether the line hands the value to the sink: its arguments hold the variable, or the source itself. */
function isSink({ sink, source }: FlowRule, line: string, name: string | undefined): boolean {
  const found = sink.exec(line);
  if (!found) return false;
  const args = line.slice(found.index + found[0].length);
  return source.test(args) || (name !== undefined && new RegExp(`\\b${name}\\b`).test(args));
}
