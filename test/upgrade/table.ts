import type { UpgradeReport } from './report.js';

/** Enough to see what kind of fault it is. */
const LINES_SHOWN = 50;

/** What a person reads: a line for each phase, then the totals and whatever was found. */
export function tableOf(report: UpgradeReport): string {
  const { phases, requests, marks, histories, replays } = report;
  const head = ['phase', 'in flight', 'awaiting', 'to old', 'to new', 'decided', 'seconds'];
  const rows = phases.map(({ phase, live, awaiting, requests: to, decided, seconds }) =>
    [phase, live, awaiting, to.old, to.next, decided, seconds].map(String),
  );
  const attempts = marks.attempts.map(({ build, result, count }) => `${String(count)} ${result} by ${build}`);
  return [
    '',
    ...[head, ...rows].map(
      ([name = '', ...cells]) => name.padEnd(22) + cells.map((each) => each.padStart(10)).join(''),
    ),
    '',
    `${String(report.accepted)} canaries accepted; ${String(requests.sent)} requests, ${String(requests.failed)} failed, ` +
      `${String(requests.shed)} turned away because the machine was too busy`,
    `attempts: ${attempts.join(', ')}`,
    `${String(marks.rescues)} rescues, ${String(marks.receipts)} receipts, ${String(marks.refusals)} refused commits, ` +
      `${String(marks.wedged)} wedged, ${String(report.openRuns)} runs left open`,
    `histories: ${String(histories.marked)} carry the patch, ${String(histories.unmarked)} do not; ` +
      `${String(histories.failedTasks)} workflow tasks were given to a worker that did not know the patch`,
    `${String(replays.histories)} histories replayed: ${String(replays.patched.length)} break with the patch, ` +
      `${String(replays.unpatched.length)} without it`,
    ...[...report.findings, ...report.empty].slice(0, LINES_SHOWN).map((each) => `  ${each}`),
    report.passed ? 'passed' : 'FAILED',
  ].join('\n');
}
