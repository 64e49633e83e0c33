import { visibleOf } from '../text/plain-text.js';
import { PRIVILEGES } from './privilege.js';

/** Weights of the rubric, in points of 100. */
export const RUBRIC = {
  intentMatchesScope: 20,
  leastPrivilege: 15,
  noObfuscation: 15,
  noSocialEngineering: 10,
  securityNotes: 10,
  templateCompliance: 10,
  consistentBehaviour: 10,
  capabilitiesJustified: 10,
} as const;
export type Criterion = keyof typeof RUBRIC;

export const CRITERIA = Object.keys(RUBRIC) as Criterion[];

/** One mark for each criterion, from 0 to 10. The judge gives the marks; it has no say in the weights. */
export type Marks = Readonly<Record<Criterion, number>>;

export const BEST_MARK = 10;

/** A skill with a score of `approve` or more is published without a person. A score below `review` is rejected. */
const THRESHOLDS = { approve: 80, review: 60 } as const;

/** The most that a score can be, whatever the judge says, and why. */
export interface Limit {
  to: number;
  /** One sentence for the owner. */
  because: string;
}

/** The best score that leaves the decision to a person. */
const REVIEWED = THRESHOLDS.approve - 1;

/** The best score that is still rejected. */
const REFUSED = THRESHOLDS.review - 1;

/** The best score that a finding of each severity allows. A low finding is a remark and costs a little; a critical one
 *  leaves 0. */
const LEFT_BY = { critical: 0, high: REFUSED, medium: REVIEWED, low: 95, info: 100 } as const;

/** The fields of a scan finding that the score depends on. */
export interface Flaw {
  severity: keyof typeof LEFT_BY;
  name: string;
}

/** The worst finding sets the limit. A finding never raises a score. */
export function limitOfFlaws(flaws: readonly Flaw[]): Limit[] {
  const [worst] = flaws.toSorted((one, other) => LEFT_BY[one.severity] - LEFT_BY[other.severity]);
  if (!worst || LEFT_BY[worst.severity] >= 100) return [];
  return [{ to: LEFT_BY[worst.severity], because: `The scan found, as ${worst.severity}: ${worst.name}.` }];
}

/** Characters of a path that are shown: enough to recognise the file. */
const MAX_PATH = 100;

/** A skill of which the judge did not see every file is not published without a person. */
export function limitOfUnseen(paths: readonly string[]): Limit[] {
  if (paths.length === 0) return [];
  const named = paths
    .slice(0, 3)
    .map((path) => visibleOf(path.slice(0, MAX_PATH)))
    .join(', ');
  const others = paths.length > 3 ? ` and ${paths.length - 3} more` : '';
  return [{ to: REVIEWED, because: `The judge did not see all of ${named}${others}.` }];
}

/** A judge that quotes text that is not in the skill may be wrong about the rest as well. */
export function limitOfInvented(quotes: number): Limit[] {
  if (quotes === 0) return [];
  const passages = quotes === 1 ? '1 passage that is' : `${quotes} passages that are`;
  return [{ to: REVIEWED, because: `The judge quoted ${passages} not in the skill, so a person decides.` }];
}

/** Text that speaks to the reviewer needs a person. Text that dictates the verdict or the answer has no honest purpose
 *  and is rejected. */
export function limitOfAddresses(addresses: readonly { isDemand: boolean }[]): Limit[] {
  if (addresses.length === 0) return [];
  return addresses.some(({ isDemand }) => isDemand)
    ? [{ to: REFUSED, because: 'The skill tells its reviewer which verdict to give.' }]
    : [{ to: REVIEWED, because: 'The skill holds text that is addressed to its reviewer.' }];
}

/** Points of each criterion. A mark outside the scale counts as the nearest mark on it, and NaN counts as 0. */
export function pointsOf(marks: Marks): Readonly<Record<Criterion, number>> {
  const points = CRITERIA.map((name) => [name, (RUBRIC[name] * clampMark(marks[name])) / BEST_MARK]);
  return Object.fromEntries(points) as Record<Criterion, number>;
}

function clampMark(mark: number): number {
  return Number.isNaN(mark) ? 0 : Math.min(BEST_MARK, Math.max(0, mark));
}

/** Rounded down, because a score that nearly reaches a threshold has not reached it. */
export function scoreOf(points: Readonly<Record<Criterion, number>>, limits: readonly Limit[]): number {
  const sum = CRITERIA.reduce((total, name) => total + points[name], 0);
  return Math.max(0, Math.floor(Math.min(sum, ...limits.map(({ to }) => to))));
}

export type JudgeVerdict = 'approve' | 'review' | 'reject';

/** The verdict that a judgement leads to. A person reviews a skill that has privileges, however good its score is. */
export function judgeVerdictOf({ score, privileges }: { score: number; privileges: readonly unknown[] }): JudgeVerdict {
  if (!(score >= THRESHOLDS.review)) return 'reject';
  if (!(score >= THRESHOLDS.approve)) return 'review';
  return privileges.length > 0 ? 'review' : 'approve';
}

/** Told to the reviewer of a skill that only rules have judged. Rules find faults, but can't tell that there are none. */
export const NO_MODEL_CONCERN = 'no model has judged this skill; a person decides';

/** Whether a stored judgement has the shape that this version writes and shows. An older version may have stored it. */
export function isWholeJudgement(stored: unknown): boolean {
  const { score, criteria, limits, concerns, privileges, model } = fieldsOf(stored);
  const points = fieldsOf(criteria);
  return (
    Number.isFinite(score) &&
    typeof model === 'string' &&
    CRITERIA.every((name) => Number.isFinite(points[name])) &&
    isListOf(limits, ({ to, because }) => Number.isFinite(to) && typeof because === 'string') &&
    isListOf(concerns, isConcern) &&
    isListOf(privileges, isPrivilege)
  );
}

type Fields = Readonly<Record<string, unknown>>;

function isConcern({ criterion, text, quote }: Fields): boolean {
  return typeof criterion === 'string' && typeof text === 'string' && (quote === null || isPlace(fieldsOf(quote)));
}

function isPrivilege({ kind, ...place }: Fields): boolean {
  return typeof kind === 'string' && Object.hasOwn(PRIVILEGES, kind) && isPlace(place);
}

function isPlace({ file, line, text }: Fields): boolean {
  return typeof file === 'string' && Number.isSafeInteger(line) && typeof text === 'string';
}

function fieldsOf(stored: unknown): Fields {
  return typeof stored === 'object' && stored !== null ? (stored as Fields) : {};
}

function isListOf(stored: unknown, isGood: (entry: Fields) => boolean): boolean {
  return Array.isArray(stored) && stored.every((entry) => isGood(fieldsOf(entry)));
}
