import { readFacts } from '../audit/facts.js';
import { countOpenRuns } from '../audit/runs.js';
import { type Finding, findingsOf } from '../audit/verdict.js';
import type { Installation } from '../support/installation.js';
import { listRecordings } from '../support/recording.js';
import { replay } from '../support/replay.js';
import { type Marks, readBuilds, readMarks, readWedged } from './facts.js';
import { type Histories, readHistories } from './histories.js';
import { bundleIn, NEXT_VERSION } from './next-build.js';
import type { PhaseFacts, Rollout } from './rollout.js';
import { wedgedFindings } from './wedged.js';

export interface UpgradeReport {
  accepted: number;
  phases: PhaseFacts[];
  requests: { sent: number; failed: number; shed: number };
  marks: Marks;
  histories: Histories;
  replays: Replays;
  openRuns: number;
  /** Each is a sentence; none: nothing was lost, done twice, rescued, or refused, and no request failed. */
  findings: string[];
  /** Where the run did not show what it is to show: a proof that could not have failed. */
  empty: string[];
  passed: boolean;
}

/** How many histories each build does not go on with: of runs that were on their way, and of those kept with the sources. */
interface Replays {
  histories: number;
  patched: string[];
  /** The same change without its care: all of them, or nothing would have been shown. */
  unpatched: string[];
}

/** Of a rollout that is over; `next` is the build that was put in place, `careless` the one that must never be. */
export async function reportOn(
  installation: Installation,
  rollout: Rollout,
  builds: { next: string; careless: string },
): Promise<UpgradeReport> {
  const { pool, temporalAddress } = installation;
  const { ledger, front, owner, phases } = rollout;
  const ids = ledger.entries.flatMap(({ id }) => id ?? []);
  const found = findingsOf(await readFacts(pool, owner), ledger.entries);
  const marks = await readMarks(pool);
  const { histories, failedTasks } = await readHistories(installation, ids);
  const wedged = await readWedged(pool);
  const replays = await replayAll(rollout, builds);
  const openRuns = found.some(({ kind }) => kind === 'stuck') ? 0 : await countOpenRuns(temporalAddress);
  const findings = [
    ...rollout.broken,
    ...front.failures.map((each) => `failed request: ${each}`),
    ...ledger.complaints,
    ...ledger.withoutReason.map((id) => `no reason was given for where ${id} stands`),
    ...found.map(sentenceOf),
    ...exitFindings(rollout),
    ...markFindings(marks, rollout.isShared),
    ...wedgedFindings({ next: NEXT_VERSION, tasks: failedTasks, builds: await readBuilds(pool), wedged }),
    ...(marks.wedged > 0 && wedged.length === 0 ? ['a sweep found runs wedged, and nobody was told'] : []),
    ...(openRuns > 0 ? [`${String(openRuns)} runs are open although no item is live`] : []),
    ...replays.patched.map((each) => `the new build does not go on with a history: ${each}`),
  ];
  const empty = emptyIn(rollout, marks, histories, replays);
  return {
    accepted: ids.length,
    phases,
    requests: { sent: front.tries.sent, failed: front.failures.length, shed: front.shed.count },
    ...{ marks, histories, replays, openRuns, findings, empty },
    passed: findings.length === 0 && empty.length === 0,
  };
}

export function sentenceOf({ kind, itemId, what }: Finding): string {
  return `${kind} ${itemId}: ${what}`;
}

export function exitFindings({ exits }: Rollout): string[] {
  const bad = Object.entries(exits).filter(([, { code }]) => code !== 0);
  return bad.map(([name, exit]) => `${name} did not end in order: ${JSON.stringify(exit)}`);
}

/** Stopping in order is no fault: it costs no try, no rescue, and leaves nothing to recover. A worker that gets no time on a
 *  shared machine misses its heartbeats, and that is recovered from. */
export function markFindings({ attempts, leftBehind, rescues, ...starved }: Marks, isShared: boolean): string[] {
  const good = ['done', 'shutdown', ...(isShared ? ['crash', 'given_back'] : [])];
  const faults = attempts.filter(({ result }) => !good.includes(result));
  const counts = { 'attempts left behind': leftBehind, rescues, ...(isShared ? {} : starved) };
  return [
    ...faults.map(({ build, result, count }) => `${String(count)} attempts of ${build} ended as ${result}`),
    ...Object.entries(counts).flatMap(([name, count]) => (count > 0 ? [`${name}: ${String(count)}`] : [])),
  ];
}

async function replayAll({ recordings }: Rollout, builds: { next: string; careless: string }): Promise<Replays> {
  const kept = listRecordings().filter(({ workflowId }) => /:\d+$/.test(workflowId));
  const all = [...recordings, ...kept];
  const errorsOf = async (root: string): Promise<string[]> =>
    Object.entries(await replay(all, bundleIn(root))).map(([name, error]) => `${name}: ${error}`);
  return { histories: all.length, patched: await errorsOf(builds.next), unpatched: await errorsOf(builds.careless) };
}

const NON_DETERMINISM = /non-?determinis/i;

function emptyIn(rollout: Rollout, marks: Marks, histories: Histories, replays: Replays): string[] {
  return missingIn({
    ...shownBy(rollout, marks, NEXT_VERSION),
    'no run went the new way': histories.marked > 0,
    'no run went the old way': histories.unmarked > 0,
    'the change was not seen to break runs without its patch': rollout.recordings.every(({ name }) =>
      replays.unpatched.some((error) => error.startsWith(name) && NON_DETERMINISM.test(error)),
    ),
  });
}

/** Whether the rollout met the moments that it is to show, each under the sentence for a moment that it did not meet. */
export function shownBy(rollout: Rollout, marks: Marks, next: string): Record<string, boolean> {
  const ended = (isNext: boolean, result: string): number =>
    marks.attempts
      .filter((each) => (each.build === next) === isNext && each.result === result)
      .reduce((sum, { count }) => sum + count, 0);
  const leaving = rollout.phases.find(({ phase }) => phase === 'old API leaves');
  return {
    'nothing awaited a decision when the new version came': (rollout.phases[1]?.awaiting ?? 0) > 0,
    'no decision was given while both were there': (rollout.phases[1]?.decided ?? 0) > 0,
    'the new API was asked for nothing while both were there': (rollout.phases[1]?.requests.next ?? 0) > 0,
    'the leaving API was asked for nothing': (leaving?.requests.old ?? 0) > 0,
    'the old workers did nothing': ended(false, 'done') > 0,
    'the new workers did nothing': ended(true, 'done') > 0,
    'no stage was cut short by a stopping worker': ended(false, 'shutdown') > 0,
    'no run was on its way when the new version came': rollout.recordings.length > 0,
  };
}

export function missingIn(shown: Record<string, boolean>): string[] {
  return Object.entries(shown).flatMap(([sentence, isShown]) => (isShown ? [] : [sentence]));
}
