import type { ErrorClass } from '../../../../core/error-class.js';
import type { Criterion } from '../judgement/judgement.js';
import { visibleOf } from '../text/plain-text.js';
import { isBlocking } from './scan-verdict.js';

/** One reason why a submission was not published. */
export interface RejectionReason {
  why: string;
  /** Path inside the skill's folder. Null: the reason is about no file. */
  file: string | null;
  /** From 1. Null: the reason is about the whole file. */
  line: number | null;
  /** The field of the submission that is wrong, such as `repoUrl`. */
  field: string | null;
  /** The owner's next action. */
  remedy: string;
}

/** The answer to an owner whose submission was not published. */
export interface Rejection {
  summary: string;
  /** Never empty. */
  reasons: readonly RejectionReason[];
  /** The number of reasons that were left out. */
  more: number;
  nextAction: string;
}

interface StoredFinding {
  name: string;
  severity: string;
  category: string;
  file: string;
  line: number | null;
  /** The text that the rule matched. */
  match?: string;
  remedy: string;
}

interface StoredJudgement {
  score: number;
  limits: readonly { because: string }[];
  concerns: readonly { criterion: Criterion; text: string; quote: { file: string; line: number } | null }[];
}

/** The facts that are known about a submission that ended. */
export interface Ended {
  /** The trigger of the last move, as the audit trail names it. */
  trigger: string;
  /** The reason that a person gave for the decision or the cancellation. */
  said: string | null;
  error: { class: ErrorClass; message: string; stage: string } | null;
  findings: readonly StoredFinding[];
  judgement: StoredJudgement | null;
  /** The score that the judge's rejection fell short of. Null: it was not recorded. */
  needed: number | null;
}

/** An owner does not mend more than this before submitting again. */
const MAX_REASONS = 50;

/** The longest text of others (a reviewer, a model, the author of a file name) that is shown. */
const MAX_CHARACTERS = 1_000;

const MEND = 'Put this right and submit the skill again.';
const LATER =
  'There is nothing to put right: submit the skill again later; if it ends like this twice, tell whoever runs this installation.';
const AGAIN = 'Submit the skill again; if it ends like this twice, tell whoever runs this installation.';

/** Says why a submission was not published, where the fault is, and what its owner can do. Every way to be rejected
 *  gets an answer of the same shape. */
export function rejectionOf(ended: Ended): Rejection {
  switch (ended.trigger) {
    case 'tier1-fail':
      return scanRejection(ended);
    case 'tier1-timeout':
      return buildRejection('The scan did not come to an end.', [scanFailureReason(ended)], AGAIN);
    case 'fetch-failed':
      return fetchRejection(ended);
    case 'tier2-fail':
      return judgeRejection(ended);
    case 'admin-reject':
    case 'review-reject':
      return buildRejection('A reviewer rejected it.', [reviewReason(ended)], MEND);
    case 'stuck-exhausted':
      return buildRejection('It was given up after all its rescues.', [exhaustionReason(ended)], AGAIN);
    case 'poison':
      return buildRejection('It brought down the workers that took it up.', [poisonReason(ended)], MEND);
    case 'cancelled':
      return buildRejection(
        'It was cancelled.',
        [cancellationReason(ended)],
        'Submit the skill again if it is still wanted.',
      );
    default:
      return buildRejection(`It was rejected (${showText(ended.trigger)}).`, [unknownReason(ended)], AGAIN);
  }
}

function buildRejection(summary: string, reasons: readonly RejectionReason[], nextAction: string): Rejection {
  const told = reasons.slice(0, MAX_REASONS);
  return { summary, reasons: told, more: reasons.length - told.length, nextAction };
}

function reasonOf(
  why: string,
  remedy: string,
  at: Partial<Pick<RejectionReason, 'file' | 'line' | 'field'>> = {},
): RejectionReason {
  return { why: why || 'No reason was kept.', file: null, line: null, field: null, ...at, remedy: remedy || MEND };
}

function scanRejection({ findings }: Ended): Rejection {
  const reasons = findings.filter(isBlocking).map((finding) =>
    reasonOf(`${showText(finding.name)} (${finding.severity})${detailOf(finding)}`, showText(finding.remedy), {
      file: showText(finding.file),
      line: finding.line,
    }),
  );
  if (reasons.length === 0) return buildRejection('The scan did not pass it.', [reasonOf('', AGAIN)], AGAIN);
  const things = reasons.length === 1 ? '1 thing' : `${reasons.length} things`;
  return buildRejection(`The scan found ${things} that no published skill may hold.`, reasons, MEND);
}

/** The match of a structure rule says how large a file is, or where its YAML breaks, so the owner is told of it. Other
 *  rules match whole lines, which the list of findings shows already. */
function detailOf({ category, file, match }: StoredFinding): string {
  const isTelling = category === 'structure' && typeof match === 'string' && match !== '' && match !== file;
  return isTelling ? `: ${showText(match)}` : '';
}

/** Errors of a scan that the skill's own files cause. */
const SCAN_WORDS: Partial<Record<ErrorClass, string>> = {
  SCAN_TIMEOUT: 'Every try took longer than a scan may.',
  BAD_INPUT: 'Every try took more memory than a scan may.',
};

function scanFailureReason({ error }: Ended): RejectionReason {
  const why = error && SCAN_WORDS[error.class];
  return why
    ? reasonOf(why, 'Make its files smaller and its lines shorter, then submit it again.')
    : reasonOf('Every try failed on our side.', AGAIN);
}

const FETCH_WORDS: Partial<Record<ErrorClass, string>> = {
  NETWORK_ERROR: 'The repository could not be reached, or gave no answer that could be used, at any try.',
  SCAN_TIMEOUT: 'Fetching the repository took longer than it may, at every try.',
};

/** A BAD_INPUT message is about the address or the repository and is worded for the owner. The messages of other errors
 *  are not, so they are not shown. */
function fetchRejection({ error }: Ended): Rejection {
  const summary = 'The skill could not be fetched.';
  if (error?.class === 'BAD_INPUT') return buildRejection(summary, [addressReason(error.message)], MEND);
  const host = error && unresolvedHost(error.message);
  if (host) {
    const why = `${showText(host)} could not be found by its name from here, at any try: the network's fault or ours, not yours.`;
    return buildRejection(summary, [reasonOf(why, LATER)], LATER);
  }
  const why = (error && FETCH_WORDS[error.class]) ?? 'Every try failed on our side.';
  return buildRejection(
    summary,
    [reasonOf(why, 'See that the repository can be cloned by anybody, then submit the skill again.')],
    AGAIN,
  );
}

/** The host that could not be resolved. It is an allowed host, because the address is checked before the lookup. */
function unresolvedHost(message: string): string | undefined {
  return /^([A-Za-z0-9.-]+) (?:could not be resolved|has no address)$/.exec(message)?.[1];
}

/** Takes a message apart into the field, the fault and the remedy: `repoUrl names a repository that is private; make it
 *  public`. */
function addressReason(message: string): RejectionReason {
  const [, field = null] = /^(repoUrl|skillPath|skillName|ref) /.exec(message) ?? [];
  const end = message.indexOf('; ');
  const why = showText(end < 0 ? message : message.slice(0, end));
  return reasonOf(why, end < 0 ? 'Correct it and submit the skill again.' : sentenceOf(message.slice(end + 2)), {
    field,
  });
}

function judgeRejection({ judgement, needed }: Ended): Rejection {
  const least = needed === null ? '' : `; ${needed} are needed`;
  const score = judgement ? ` with ${judgement.score} of 100 points${least}` : '';
  const limits = (judgement?.limits ?? []).map(({ because }) => reasonOf(showText(because), MEND));
  const concerns = (judgement?.concerns ?? []).map(({ criterion, text, quote }) =>
    reasonOf(showText(text), remedyOf(criterion), quote ? { file: showText(quote.file), line: quote.line } : {}),
  );
  const reasons = [...limits, ...concerns];
  const bare = reasonOf(
    'The judge named nothing in particular.',
    'Say in SKILL.md what the skill does and what it needs for it.',
  );
  return buildRejection(`The judge rejected it${score}.`, reasons.length > 0 ? reasons : [bare], MEND);
}

/** The remedy for a concern of the judge, by the criterion that it falls under. */
const REMEDIES = {
  intentMatchesScope: 'Let the skill do what its description says, and describe all that it does.',
  leastPrivilege: 'Ask only for the tools, folders and keys that the skill cannot do without.',
  noObfuscation: 'Write what is encoded, packed or hidden in plain text.',
  noSocialEngineering: 'Take out what urges, deceives or instructs whoever reads or reviews it.',
  securityNotes: 'Add a section that says what the skill may touch and what to watch out for.',
  templateCompliance: 'Give SKILL.md a front matter with name and description, and sections under headings.',
  consistentBehaviour: 'Let text and scripts agree on what is done.',
  capabilitiesJustified: 'Say beside each powerful command why the skill needs it.',
} as const satisfies Record<Criterion, string>;

/** A stored judgement may be older than the rubric and name a criterion that is gone. */
function remedyOf(criterion: string): string {
  return new Map<string, string>(Object.entries(REMEDIES)).get(criterion) ?? MEND;
}

function reviewReason({ said }: Ended): RejectionReason {
  return reasonOf(showText(said ?? ''), MEND);
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

function exhaustionReason(ended: Ended): RejectionReason {
  const last = ended.error ? ` (last error: ${ended.error.class})` : '';
  return reasonOf(`${stageOf(ended)} did not come to an end, however often it was begun again${last}.`, AGAIN);
}

function poisonReason(ended: Ended): RejectionReason {
  return reasonOf(
    `${stageOf(ended)} ended three workers, each time as the only task that could have done it.`,
    'Take out what is unusually large or deeply nested, then submit it again.',
  );
}

function cancellationReason({ said }: Ended): RejectionReason {
  return reasonOf(
    said === null ? 'No reason was given.' : showText(said),
    'Submit the skill again if it is still wanted.',
  );
}

function unknownReason({ said }: Ended): RejectionReason {
  return reasonOf(showText(said ?? ''), AGAIN);
}

function sentenceOf(text: string): string {
  const told = showText(text);
  return `${told.charAt(0).toUpperCase()}${told.slice(1)}${/[.!?]$/.test(told) ? '' : '.'}`;
}

/** Puts a text on one line, cuts it, and makes its invisible characters visible. */
function showText(text: string): string {
  const signs = [
    ...text
      .slice(0, 2 * MAX_CHARACTERS)
      .replace(/\s+/g, ' ')
      .trim(),
  ];
  const cut = signs.slice(0, MAX_CHARACTERS).join('');
  return visibleOf(signs.length > MAX_CHARACTERS || text.length > 2 * MAX_CHARACTERS ? `${cut}…` : cut);
}
