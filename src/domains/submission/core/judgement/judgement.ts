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

/** A skill with a score of `approve` or more is published without a person. A score below `review` is rejected. `review` is at least 1
 *  and less than `approve`, so that each limit has a score below it. */
export interface Thresholds {
  approve: number;
  review: number;
}

export const DEFAULT_THRESHOLDS: Thresholds = { approve: 80, review: 60 };

/** The most that a score can be, whatever the judge says, and why. */
export interface Limit {
  to: number;
  /** One sentence for the owner. */
  because: string;
}

/** The best score that leaves the decision to a person. */
function reviewedScore({ approve }: Thresholds): number {
  return approve - 1;
}

/** The best score that is still rejected. */
function refusedScore({ review }: Thresholds): number {
  return review - 1;
}

/** The fields of a scan finding that the score depends on. */
export interface Flaw {
  severity: 'critical' | 'high' | 'medium' | 'low' | 'info';
  name: string;
}

/** The best score that a finding of each severity allows. A low finding is a remark: it costs a little, but no approval. A critical
 *  one leaves 0. */
function scoreLeftBy({ severity }: Flaw, thresholds: Thresholds): number {
  const left = { critical: 0, high: refusedScore(thresholds), medium: reviewedScore(thresholds), info: 100 };
  return severity === 'low' ? Math.max(95, thresholds.approve) : left[severity];
}

/** The worst finding sets the limit. A finding never raises a score. */
export function limitOfFlaws(flaws: readonly Flaw[], thresholds: Thresholds): Limit[] {
  const [worst] = flaws
    .map((flaw) => ({ ...flaw, to: scoreLeftBy(flaw, thresholds) }))
    .sort((one, other) => one.to - other.to);
  if (!worst || worst.to >= 100) return [];
  return [{ to: worst.to, because: `The scan found, as ${worst.severity}: ${worst.name}.` }];
}

/** Characters of a path that are shown: enough to recognise the file. */
const MAX_PATH = 100;

/** A skill of which the judge did not see every file is not published without a person. */
export function limitOfUnseen(paths: readonly string[], thresholds: Thresholds): Limit[] {
  if (paths.length === 0) return [];
  const named = paths
    .slice(0, 3)
    .map((path) => visibleOf(path.slice(0, MAX_PATH)))
    .join(', ');
  const others = paths.length > 3 ? ` and ${paths.length - 3} more` : '';
  return [{ to: reviewedScore(thresholds), because: `The judge did not see all of ${named}${others}.` }];
}

/** A judge that quotes text that is not in the skill may be wrong about the rest as well. */
export function limitOfInvented(quotes: number, thresholds: Thresholds): Limit[] {
  if (quotes === 0) return [];
  const passages = quotes === 1 ? '1 passage that is' : `${quotes} passages that are`;
  return [
    { to: reviewedScore(thresholds), because: `The judge quoted ${passages} not in the skill, so a person decides.` },
  ];
}

/** Text that speaks to the reviewer needs a person. Text that dictates the verdict or the answer has no honest purpose
 *  and is rejected. */
export function limitOfAddresses(addresses: readonly { isDemand: boolean }[], thresholds: Thresholds): Limit[] {
  if (addresses.length === 0) return [];
  return addresses.some(({ isDemand }) => isDemand)
    ? [{ to: refusedScore(thresholds), because: 'The skill tells its reviewer which verdict to give.' }]
    : [{ to: reviewedScore(thresholds), because: 'The skill holds text that is addressed to its reviewer.' }];
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

/** The verdict that a judgement leads to, by the thresholds that it was made for: under others its limits would mean something else.
 *  A person reviews a skill that has privileges, however good its score is. */
export function judgeVerdictOf(
  { score, privileges }: { score: number; privileges: readonly unknown[] },
  thresholds: Thresholds,
): JudgeVerdict {
  if (!(score >= thresholds.review)) return 'reject';
  if (!(score >= thresholds.approve)) return 'review';
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
