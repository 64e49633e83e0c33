import type { ErrorClass } from '../../../../core/error-class.js';
import type { Criterion } from '../judgement/judgement.js';
import { visibleOf } from '../text/plain-text.js';
import { fixOf } from '../../../../core/rejection-remedies.js';
import { isBlocking } from './scan-verdict.js';

/** One thing that stood in a submission's way. */
export interface Reason {
  why: string;
  /** In the skill's folder; null where it is about no file. */
  file: string | null;
  /** From 1; null where it is about the whole file. */
  line: number | null;
  /** The part of the submission that it is about, such as `repoUrl`. */
  field: string | null;
  /** What the owner can do about it. */
  remedy: string;
}

/** Why a submission was not published, told to its owner. */
export interface Rejection {
  summary: string;
  /** Never empty. */
  reasons: readonly Reason[];
  /** How many more there are. */
  more: number;
  nextAction: string;
}

interface Finding {
  name: string;
  severity: string;
  category: string;
  file: string;
  line: number | null;
  /** What was found there. */
  match?: string;
  remedy: string;
}

interface Judgement {
  score: number;
  limits: readonly { because: string }[];
  concerns: readonly { criterion: Criterion; text: string; quote: { file: string; line: number } | null }[];
}

/** What is known of an end. */
export interface Ended {
  /** What ended it, in the audit trail's word. */
  trigger: string;
  /** What whoever decided or cancelled gave as reason. */
  said: string | null;
  error: { class: ErrorClass; message: string; stage: string } | null;
  findings: readonly Finding[];
  judgement: Judgement | null;
}

/** As many as somebody mends before looking again. */
const MAX_REASONS = 50;

/** What others wrote (a reviewer, a model, whoever named a file) is shown up to this. */
const MAX_CHARACTERS = 1_000;

const MEND = 'Put this right and submit the skill again.';
const LATER =
  'There is nothing to put right: submit the skill again later; if it ends like this twice, tell whoever runs this installation.';
const AGAIN = 'Submit the skill again; if it ends like this twice, tell whoever runs this installation.';

/** Why it ended without being published, where, and what to do about it: one answer for every way to be rejected. */
export function whyEnded(ended: Ended): Rejection {
  switch (ended.trigger) {
    case 'tier1-fail':
      return scanRejection(ended);
    case 'tier1-timeout':
      return of('The scan did not come to an end.', [scanFailure(ended)], AGAIN);
    case 'fetch-failed':
      return fetchRejection(ended);
    case 'tier2-fail':
      return judgeRejection(ended);
    case 'admin-reject':
    case 'review-reject':
      return of('A reviewer rejected it.', [reviewReason(ended)], MEND);
    case 'stuck-exhausted':
      return of('It was given up after all its rescues.', [exhaustion(ended)], AGAIN);
    case 'poison':
      return of('It brought down the workers that took it up.', [poison(ended)], MEND);
    case 'cancelled':
      return of('It was cancelled.', [cancellation(ended)], 'Submit the skill again if it is still wanted.');
    default:
      return of(`It was rejected (${shown(ended.trigger)}).`, [unknown(ended)], AGAIN);
  }
}

function of(summary: string, reasons: readonly Reason[], nextAction: string): Rejection {
  const told = reasons.slice(0, MAX_REASONS);
  return { summary, reasons: told, more: reasons.length - told.length, nextAction };
}

function reason(why: string, remedy: string, at: Partial<Pick<Reason, 'file' | 'line' | 'field'>> = {}): Reason {
  return { why: why || 'No reason was kept.', file: null, line: null, field: null, ...at, remedy: remedy || MEND };
}

function scanRejection({ findings }: Ended): Rejection {
  const reasons = findings.filter(isBlocking).map((finding) =>
    reason(`${shown(finding.name)} (${finding.severity})${detailOf(finding)}`, shown(finding.remedy), {
      file: shown(finding.file),
      line: finding.line,
    }),
  );
  if (reasons.length === 0) return of('The scan did not pass it.', [reason('', AGAIN)], AGAIN);
  const things = reasons.length === 1 ? '1 thing' : `${String(reasons.length)} things`;
  return of(`The scan found ${things} that no published skill may hold.`, reasons, MEND);
}

/** What a broken format is found by: how large it is, where the YAML breaks. What other rules match are whole lines, which the
 *  findings show. */
function detailOf({ category, file, match }: Finding): string {
  const isTelling = category === 'structure' && typeof match === 'string' && match !== '' && match !== file;
  return isTelling ? `: ${shown(match)}` : '';
}

/** What a skill's own files bring about, and what they would need. */
const SCAN_WORDS: Partial<Record<ErrorClass, string>> = {
  SCAN_TIMEOUT: 'Every try took longer than a scan may.',
  BAD_INPUT: 'Every try took more memory than a scan may.',
};

function scanFailure({ error }: Ended): Reason {
  const why = error && SCAN_WORDS[error.class];
  return why
    ? reason(why, 'Make its files smaller and its lines shorter, then submit it again.')
    : reason('Every try failed on our side.', AGAIN);
}

const FETCH_WORDS: Partial<Record<ErrorClass, string>> = {
  NETWORK_ERROR: 'The repository could not be reached, or gave no answer that could be used, at any try.',
  SCAN_TIMEOUT: 'Fetching the repository took longer than it may, at every try.',
};

/** What is wrong with the address or the repository was worded for its owner; any other error was not, and stays inside. */
function fetchRejection({ error }: Ended): Rejection {
  const summary = 'The skill could not be fetched.';
  if (error?.class === 'BAD_INPUT') return of(summary, [refusedAddress(error.message)], MEND);
  const host = error && unresolvedHost(error.message);
  if (host) {
    const why = `${shown(host)} could not be found by its name from here, at any try: the network's fault or ours, not yours.`;
    return of(summary, [reason(why, LATER)], LATER);
  }
  const why = (error && FETCH_WORDS[error.class]) ?? 'Every try failed on our side.';
  return of(
    summary,
    [reason(why, 'See that the repository can be cloned by anybody, then submit the skill again.')],
    AGAIN,
  );
}

/** Of an allowed host: its name was checked before it was looked up. */
function unresolvedHost(message: string): string | undefined {
  return /^([A-Za-z0-9.-]+) (?:could not be resolved|has no address)$/.exec(message)?.[1];
}

/** `repoUrl names a repository that is private; make it public`: the field, what is wrong, and what would be right. */
function refusedAddress(message: string): Reason {
  const [, field = null] = /^(repoUrl|skillPath|skillName|ref) /.exec(message) ?? [];
  const end = message.indexOf('; ');
  const why = shown(end < 0 ? message : message.slice(0, end));
  return reason(why, end < 0 ? 'Correct it and submit the skill again.' : sentence(message.slice(end + 2)), { field });
}

function judgeRejection({ judgement }: Ended): Rejection {
  const score = judgement ? ` with ${String(judgement.score)} of 100 points; 60 are needed` : '';
  const limits = (judgement?.limits ?? []).map(({ because }) => reason(shown(because), MEND));
  const concerns = (judgement?.concerns ?? []).map(({ criterion, text, quote }) =>
    reason(shown(text), fixOf(criterion), quote ? { file: shown(quote.file), line: quote.line } : {}),
  );
  const reasons = [...limits, ...concerns];
  const bare = reason(
    'The judge named nothing in particular.',
    'Say in SKILL.md what the skill does and what it needs for it.',
  );
  return of(`The judge rejected it${score}.`, reasons.length > 0 ? reasons : [bare], MEND);
}

function reviewReason({ said }: Ended): Reason {
  return reason(shown(said ?? ''), MEND);
}

const STAGE_WORDS: Readonly<Record<string, string>> = {
  checkVendor: 'Looking at its repository',
  fetch: 'Fetching it',
  fetchVendor: 'Fetching it',
  scanTier1: 'Scanning it',
  judgeTier2: 'Judging it',
  publish: 'Publishing it',
  publishVendor: 'Publishing it',
};

function stageOf({ error }: Ended): string {
  return (error && Object.hasOwn(STAGE_WORDS, error.stage) && STAGE_WORDS[error.stage]) || 'Working on it';
}

function exhaustion(ended: Ended): Reason {
  const last = ended.error ? ` (last error: ${ended.error.class})` : '';
  return reason(`${stageOf(ended)} did not come to an end, however often it was begun again${last}.`, AGAIN);
}

function poison(ended: Ended): Reason {
  return reason(
    `${stageOf(ended)} ended three workers, each time as the only task that could have done it.`,
    'Take out what is unusually large or deeply nested, then submit it again.',
  );
}

function cancellation({ said }: Ended): Reason {
  return reason(said === null ? 'No reason was given.' : shown(said), 'Submit the skill again if it is still wanted.');
}

function unknown({ said }: Ended): Reason {
  return reason(shown(said ?? ''), AGAIN);
}

function sentence(text: string): string {
  const told = shown(text);
  return `${told.charAt(0).toUpperCase()}${told.slice(1)}${/[.!?]$/.test(told) ? '' : '.'}`;
}

/** On one line, with nothing hidden in it. */
function shown(text: string): string {
  const signs = [
    ...text
      .slice(0, 2 * MAX_CHARACTERS)
      .replace(/\s+/g, ' ')
      .trim(),
  ];
  const cut = signs.slice(0, MAX_CHARACTERS).join('');
  return visibleOf(signs.length > MAX_CHARACTERS || text.length > 2 * MAX_CHARACTERS ? `${cut}…` : cut);
}
