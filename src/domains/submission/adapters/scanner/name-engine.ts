import type { NameRule } from './rule.js';
import type { View } from './view.js';

/** Commands that install packages, and code that loads them. Names of packages follow. */
const INSTALLS =
  /\b(?:pip[0-9.]*\s+install|pipx\s+(?:install|run)|uv\s+(?:pip\s+install|add|tool\s+install)|uvx|poetry\s+add|conda\s+install|npm\s+(?:i|install|add|exec)|pnpm\s+(?:add|dlx|install)|yarn\s+(?:add|dlx)|bun\s+(?:add|install)|npx|bunx|gem\s+install|cargo\s+(?:add|install)|brew\s+install|apt(?:-get)?\s+install|(?:clawhub|openclaw|claude|codex|skills?)\s+(?:skills?\s+|plugins?\s+)?(?:install|add))\s+([^\n;&|`#<>()]{1,300})/gi;
const IMPORTS =
  /^\s*(?:from\s+([A-Za-z]\w*)[\w.]*\s+import\b|import\s+([A-Za-z]\w*)|.*\brequire\(\s*["']([@\w./-]+)["'])/;
const DECLARED = /^\s*["']?([a-zA-Z][\w.-]{4,40})["']?\s*(?:[=~>]=|:\s*["'][\^~>=]?\d)/;
const SKILL_NAME = /^(?:name|slug):\s*["']?([\w .-]{3,64}?)["']?\s*$/;

/** Longer than any command. Lines are cut, because the patterns above look at a line more than once. */
const MAX_LINE = 1_000;

export interface NameMatch {
  rule: NameRule;
  view: View;
  line: number;
  match: string;
}

export function createNameEngine(rules: readonly NameRule[]) {
  return (view: View): NameMatch[] =>
    rules.flatMap((rule) => {
      const known = new Set(rule.known);
      return view.text.split('\n').flatMap((whole, line) => {
        const text = whole.slice(0, MAX_LINE);
        const names = [
          ...packagesIn(text).filter((name) => isSlipOfPackage(name, known)),
          ...slipsInSkillName(text, known),
        ];
        return names.slice(0, 1).map((name) => ({ rule, view, line, match: name }));
      });
    });
}

function packagesIn(line: string): string[] {
  const installed = [...line.matchAll(INSTALLS)].flatMap(([, names]) => (names ?? '').split(/[\s,]+/));
  const imported = IMPORTS.exec(line)?.slice(1) ?? [];
  const declared = DECLARED.exec(line)?.slice(1) ?? [];
  return [...installed, ...imported, ...declared].map((name) => plainName(name ?? ''));
}

/** The name without quotes, scope, version and extras. */
function plainName(name: string): string {
  return /^["']?(?:@[\w.-]+\/)?([a-zA-Z][\w.-]*)/.exec(name)?.[1]?.toLowerCase().replaceAll('_', '-') ?? '';
}

function isSlipOfPackage(name: string, known: ReadonlySet<string>): boolean {
  if (name.length < 5 || isKnown(name, known)) return false;
  return [...known].some((each) => each.length >= 5 && (name === each.replace(/[-.]/g, '') || isOneSlip(name, each)));
}

/** Most words of a skill's name are plain English, so only a misspelling that is not another word counts. */
function slipsInSkillName(line: string, known: ReadonlySet<string>): string[] {
  const name = SKILL_NAME.exec(line)?.[1]?.toLowerCase();
  if (!name) return [];
  const words = [...name.split(/[-_ .]+/), name];
  return words.filter(
    (word) => word.length >= 6 && !isKnown(word, known) && [...known].some((each) => isTypo(word, each)),
  );
}

function isKnown(name: string, known: ReadonlySet<string>): boolean {
  return known.has(name) || known.has(name.replace(/js$|\.js$|-js$/, '')) || known.has(name.replace(/\d+$/, ''));
}

/** Whether one letter is added, missing or replaced, or two are swapped. The first letter must be
 *  the same. */
function isOneSlip(name: string, known: string): boolean {
  if (name[0] !== known[0] || Math.abs(name.length - known.length) > 1 || name === known) return false;
  if (/\d$/.test(known) && known.slice(0, -1) === name) return false;
  let at = 0;
  while (name[at] === known[at]) at++;
  const rest = (text: string, skip: number) => text.slice(at + skip);
  return (
    rest(name, 1) === rest(known, 1) ||
    rest(name, 1) === rest(known, 0) ||
    rest(name, 0) === rest(known, 1) ||
    (name[at] === known[at + 1] && name[at + 1] === known[at] && rest(name, 2) === rest(known, 2))
  );
}

function isTypo(word: string, known: string): boolean {
  if (known.length < 6 || !isOneSlip(unDigit(word), known)) return unDigit(word) === known && word !== known;
  if (word.length === known.length) {
    const isSwap = [...word].sort().join('') === [...known].sort().join('');
    // A replaced letter makes another word of a short word, and another form at the end of a long one ("formatted").
    return isSwap || (known.length >= 8 && word.at(-1) === known.at(-1));
  }
  // "generators" is not a misspelling of "generator".
  return !word.startsWith(known) && !known.startsWith(word) && !/(?:ed|er|ing|s)$/.test(word.slice(-3));
}

function unDigit(word: string): string {
  return word.replaceAll('0', 'o').replaceAll('1', 'l').replaceAll('3', 'e').replaceAll('5', 's');
}
