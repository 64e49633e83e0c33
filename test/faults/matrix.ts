import { type Reason, REASONS } from '../../src/core/diagnosis.js';
import { type Counts, sumOf } from './ask.js';
import type { Played } from './play.js';

/** Answers by the reason that was right and the reason that was given. */
export type Matrix = Record<Reason, Counts>;

export interface FaultReport {
  matrix: Matrix;
  cases: CaseReport[];
  /** Reasons that no case has made. */
  missing: Reason[];
  passed: boolean;
}

export interface CaseReport {
  reason: Reason;
  name: string;
  onTestPipeline: boolean;
  /** From the fault to the first right answer. */
  seconds: number | null;
  answers: number;
  settling: Counts;
  wrong: string[];
}

export function reportOf(played: readonly Played[], wanted: readonly Reason[] = REASONS): FaultReport {
  const matrix = Object.fromEntries(REASONS.map((reason) => [reason, {}])) as Matrix;
  for (const { fault, answers } of played) {
    const row = matrix[fault.reason];
    for (const [said, count] of Object.entries(answers) as [Reason, number][]) row[said] = (row[said] ?? 0) + count;
  }
  const cases = played.map(caseOf);
  const missing = wanted.filter((reason) => (matrix[reason][reason] ?? 0) === 0);
  return { matrix, cases, missing, passed: missing.length === 0 && cases.every((each) => each.wrong.length === 0) };
}

function caseOf({ fault, answers, settling, settledMs, wrong }: Played): CaseReport {
  const { reason, name, onTestPipeline = false } = fault;
  const seconds = settledMs === null ? null : Math.round(settledMs / 100) / 10;
  return { reason, name, onTestPipeline, seconds, answers: sumOf(answers), settling, wrong };
}

/** The matrix with numbers for columns, each case with its time, and what was wrong. */
export function tableOf({ matrix, cases, missing, passed }: FaultReport): string {
  return [
    'answers while the fault was held, after it was seen; rows: what was right, columns: what was said',
    `${' '.repeat(24)}${REASONS.map((_, at) => String(at + 1).padStart(4)).join('')}`,
    ...REASONS.map((reason, at) => `${String(at + 1).padStart(4)} ${reason.padEnd(19)}${lineOf(matrix[reason])}`),
    '',
    'seconds from the fault to the right diagnosis, and what was said before',
    ...cases.map(caseLine),
    '',
    ...cases.filter((each) => each.onTestPipeline).map(testPipelineLine),
    ...missing.map((reason) => `NOT SHOWN: ${reason}`),
    ...cases.flatMap(({ name, wrong }) => wrong.map((each) => `WRONG: ${name}: ${each}`)),
    passed ? 'every reason right, none mistaken' : 'NOT every reason was right',
  ].join('\n');
}

function lineOf(counts: Counts): string {
  return REASONS.map((reason) => String(counts[reason] ?? '·').padStart(4)).join('');
}

function caseLine({ reason, name, seconds, answers, settling, wrong }: CaseReport): string {
  const before = Object.entries(settling).map(([said, count]) => `${said} ${String(count)}×`);
  const when = seconds === null ? '    –' : seconds.toFixed(1).padStart(5);
  const said = before.length === 0 ? '' : `; before: ${before.join(', ')}`;
  return `${when}  ${reason.padEnd(19)} ${wrong.length === 0 ? 'ok   ' : 'WRONG'} ${name} (${String(answers)} answers${said})`;
}

function testPipelineLine({ reason, name }: CaseReport): string {
  return `${reason} (${name}) rests on a table made for this test: no shipped pipeline has such a state yet`;
}
