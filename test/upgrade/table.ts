import type { UpgradeReport } from './report.js';

/** Enough to see what kind of fault it is. */
const LINES_SHOWN = 50;

/** What a person reads: a line for each phase, then the totals and whatever was found. */
export function tableOf(report: UpgradeReport): string {
  const { histories, replays } = report;
  return [
    ...trafficLines(report),
    `histories: ${String(histories.marked)} carry the patch, ${String(histories.unmarked)} do not; ` +
      `${String(histories.failedTasks)} workflow tasks were given to a worker that did not know the patch`,
    `${String(replays.histories)} histories replayed: ${String(replays.patched.length)} break with the patch, ` +
      `${String(replays.unpatched.length)} without it`,
    ...verdictLines(report),
  ].join('\n');
}

type Traffic = Pick<UpgradeReport, 'phases' | 'accepted' | 'requests' | 'marks' | 'openRuns'>;

/** A line for each phase, and what became of the canaries. */
export function trafficLines({ phases, accepted, requests, marks, openRuns }: Traffic): string[] {
  const head = ['phase', 'in flight', 'awaiting', 'to old', 'to new', 'decided', 'seconds'];
  const rows = phases.map(({ phase, live, awaiting, requests: to, decided, seconds }) =>
    [phase, live, awaiting, to.old, to.next, decided, seconds].map(String),
  );
  const attempts = marks.attempts.map(({ build, result, count }) => `${count} ${result} by ${build}`);
  return [
    '',
    ...[head, ...rows].map(
      ([name = '', ...cells]) => name.padEnd(22) + cells.map((each) => each.padStart(10)).join(''),
    ),
    '',
    `${accepted} canaries accepted; ${requests.sent} requests, ${requests.failed} failed, ` +
      `${requests.shed} turned away because the machine was too busy`,
    `attempts: ${attempts.join(', ')}`,
    `${marks.rescues} rescues, ${marks.receipts} receipts, ${marks.refusals} refused commits, ` +
      `${marks.wedged} wedged, ${openRuns} runs left open`,
  ];
}

export function verdictLines({ findings, empty, passed }: Pick<UpgradeReport, 'findings' | 'empty' | 'passed'>) {
  const found = [...findings, ...empty].slice(0, LINES_SHOWN).map((each) => `  ${each}`);
  return [...found, passed ? 'passed' : 'FAILED'];
}
