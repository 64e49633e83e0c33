import { CRITERIA } from './judgement.js';
import { linesOf, type Place, placeOf, plainOf, type TextFile } from '../text/plain-text.js';

/** A place where a skill speaks to its reviewer instead of the agent that will use it. */
export interface ReviewerAddress extends Place {
  /** The text dictates the verdict, or imitates the judge's answer. */
  isDemand: boolean;
}

const REVIEWER = String.raw`(?:(?:ai|llm|automated?|security|safety|skill|code|content)[\s-]+)*(?:reviewers?|judges?|evaluators?|graders?|auditors?|assessors?|moderators?|verifiers?|scanners?|classifiers?)`;
const THIS = String.raw`(?:this|the|our|my|above|following|present)\s+(?:\w+\s+)?(?:skill|submission|plugin|package|file|document|content|text|repository|folder)`;
const GOOD = String.raw`(?:safe|approved|benign|clean|trusted|verified|harmless|compliant|passed|acceptable)`;

/** The text speaks to a reader who is not a user of the skill. This is only a hint, because skills about reviewing
 *  speak of reviewers too. */
const HINTS: readonly RegExp[] = [
  new RegExp(
    String.raw`\b(?:notes?|messages?|attention|instructions?|hints?|dear|hello|memo|important)\b[\s:,-]*(?:to|for)?\s*(?:the|any|all|every)?\s*${REVIEWER}\b\s*[:,!—-]`,
    'i',
  ),
  new RegExp(String.raw`\bif you(?:'re| are)\s+(?:an?|the)\s+${REVIEWER}\b`, 'i'),
  /\b(?:ignore|disregard|forget|override|bypass)\s+(?:all\s+|any\s+|the\s+|your\s+|every\s+)*(?:previous|prior|above|earlier|preceding|other|system|original)\s+(?:\w+\s+)?(?:instructions?|rules?|rubrics?|criteria|guidelines?|prompts?|directives?|messages?)\b/i,
  // A claim that the skill was approved already can only be meant for a reviewer.
  /\bthis\s+(?:skill|submission|plugin|package)\s+(?:has|is|was)\s+(?:already\s+|been\s+|fully\s+){0,3}(?:pre-?)?(?:reviewed|approved|verified|audited|scanned|whitelisted|certified|cleared|vetted)\b/i,
  /<\|(?:im_start|im_end|system|assistant|endoftext)\|>|<\/?(?:system|system_prompt|assistant)>|\[\/?INST\]|<<\/?SYS>>/i,
];

/** The text asks for a verdict, or writes down the judge's answer. */
const DEMANDS: readonly RegExp[] = [
  new RegExp(
    String.raw`\b(?:please\s+|must\s+|should\s+|always\s+)?(?:approve|accept|whitelist|auto-?approve|certify)\s+${THIS}\b`,
    'i',
  ),
  new RegExp(
    String.raw`\b(?:mark|rate|classify|treat|consider|label|report|judge|grade|declare)\s+(?:it|${THIS})\s+(?:as\s+)?(?:being\s+)?(?:fully\s+|completely\s+|entirely\s+)?${GOOD}\b`,
    'i',
  ),
  new RegExp(
    String.raw`\b(?:give|assign|award|grant|return|output|answer|respond|score|rate|grade)\b[^.\n]{0,60}\b(?:full|maximum|max|highest|perfect|top|100|10\s*/\s*10)\b[^.\n]{0,24}\b(?:points?|scores?|marks?|grades?|ratings?)\b`,
    'i',
  ),
  new RegExp(
    String.raw`\b(?:give|score|rate|grade)\s+(?:it|${THIS})\s+(?:a\s+|an\s+|with\s+|at\s+|as\s+)*(?:100|10)\b`,
    'i',
  ),
  new RegExp(
    String.raw`\b(?:do not|don't|never|must not|should not)\s+(?:flag|reject|fail|block|refuse|downgrade|penali[sz]e)\s+(?:it|${THIS})\b`,
    'i',
  ),
  new RegExp(String.raw`["']?\b(?:${CRITERIA.join('|')})\b["']?\s*[:=]\s*[\d{]`),
  /\b(?:AUTO_APPROVED|TIER2_SCANNING)\b|["']verdict["']\s*:\s*["'](?:approved?|pass|safe)/i,
];

export function addressesOf(files: readonly TextFile[]): ReviewerAddress[] {
  return files.flatMap(addressesIn);
}

interface KeptLine {
  /** Index of the line in the file. */
  index: number;
  /** Where the line begins in the joined text. */
  start: number;
}

/** The lines are joined, because a sentence may go on in the next line. Blank lines are left out, so that no pattern
 *  has to try them all. */
function addressesIn({ path, text }: TextFile): ReviewerAddress[] {
  const lines = linesOf(text);
  const kept: KeptLine[] = [];
  let whole = '';
  for (const [index, line] of lines.entries()) {
    const plain = stripMarkup(plainOf(line)).trim();
    if (plain === '') continue;
    kept.push({ index, start: whole.length });
    whole += `${plain}\n`;
  }
  const demands = linesMatching(DEMANDS, whole, kept);
  const hints = linesMatching(HINTS, whole, kept);
  return [...new Set([...demands, ...hints])]
    .sort((one, other) => one - other)
    .map((index) => ({ ...placeOf(path, index, lines[index] ?? ''), isDemand: demands.has(index) }));
}

/** Emphasis, quote marks, bullets and table bars do not change the meaning of a sentence. */
function stripMarkup(line: string): string {
  return line.replace(/^[\s>#|+-]+/, '').replace(/[*`]+|(?<!\w)_+|_+(?!\w)/g, '');
}

function linesMatching(patterns: readonly RegExp[], whole: string, kept: readonly KeptLine[]): Set<number> {
  const starts = patterns
    .flatMap((pattern) => [...whole.matchAll(new RegExp(pattern, `${pattern.flags}g`))])
    .map((match) => match.index)
    .sort((one, other) => one - other);
  let at = 0;
  return new Set(
    starts.map((start) => {
      while ((kept[at + 1]?.start ?? Infinity) <= start) at += 1;
      return kept[at]?.index ?? 0;
    }),
  );
}
