import { projectRoot, readVersion } from '../../src/config.js';
import { messageOf } from '../../src/core/errors.js';
import { readFacts } from '../audit/facts.js';
import { countOpenRuns } from '../audit/runs.js';
import { findingsOf } from '../audit/verdict.js';
import type { Installation } from '../support/installation.js';
import type { OlderBuild } from '../support/older-build.js';
import { replay } from '../support/replay.js';
import { type Marks, readBuilds, readMarks, readWedged } from './facts.js';
import { readHistories } from './histories.js';
import { bundleIn } from './next-build.js';
import { exitFindings, markFindings, missingIn, sentenceOf, shownBy } from './report.js';
import type { PhaseFacts, Rollout } from './rollout.js';
import { runAsBefore, runNow, type Scheduled, whenReconciled } from './schedules.js';
import { trafficLines, verdictLines } from './table.js';
import { wedgedFindings } from './wedged.js';

export interface OlderReport {
  from: string;
  to: string;
  accepted: number;
  phases: PhaseFacts[];
  requests: { sent: number; failed: number; shed: number };
  marks: Marks;
  /** Runs that were on their way, and those of them that the present build does not go on with. */
  replays: { histories: number; broken: string[] };
  /** Workflow tasks that a worker could not do. */
  failedTasks: number;
  /** What each schedule starts, before and after the upgrade. */
  schedules: { before: Record<string, string>; after: Record<string, string> };
  openRuns: number;
  /** Each is a sentence; none: nothing was lost, done twice, rescued or refused, and every schedule ran. */
  findings: string[];
  /** Where the run did not show what it is to show: a proof that could not have failed. */
  empty: string[];
  passed: boolean;
}

interface Upgraded {
  installation: Installation;
  rollout: Rollout;
  /** The schedules of the old version. */
  before: readonly Scheduled[];
  /** An operator's. */
  token: string;
  older: OlderBuild;
}

export async function reportFrom(upgraded: Upgraded): Promise<OlderReport> {
  const { installation, rollout, before, older } = upgraded;
  const { pool, temporalAddress } = installation;
  const { ledger, front, owner, phases, recordings } = rollout;
  const ids = ledger.entries.flatMap(({ id }) => id ?? []);
  const schedules = await scheduleFindings(upgraded);
  const found = findingsOf(await readFacts(pool, owner), ledger.entries);
  const marks = await readMarks(pool);
  const { failedTasks } = await readHistories(installation, ids);
  // A run of the new version may carry any new mark: it is the worker's version that tells whether a refusal is a fault.
  const tasks = failedTasks.map((task) => ({ ...task, isMarked: true }));
  const broken = Object.entries(await replay(recordings, bundleIn(projectRoot))).map(
    ([id, error]) => `${id}: ${error}`,
  );
  const openRuns = found.some(({ kind }) => kind === 'stuck') ? 0 : await countOpenRuns(temporalAddress);
  const findings = [
    ...rollout.broken,
    ...front.failures.map((each) => `failed request: ${each}`),
    ...ledger.complaints,
    ...ledger.withoutReason.map((id) => `no reason was given for where ${id} stands`),
    ...found.map(sentenceOf),
    ...exitFindings(rollout),
    ...markFindings(marks, rollout.isShared),
    ...wedgedFindings({ next: readVersion(), tasks, builds: await readBuilds(pool), wedged: await readWedged(pool) }),
    ...(openRuns > 0 ? [`${openRuns} runs are open although no item is live`] : []),
    ...broken.map((each) => `the present build does not go on with a history: ${each}`),
    ...schedules.findings,
  ];
  const empty = missingIn({
    ...shownBy(rollout, marks, readVersion()),
    'the old version had no schedules': before.length > 0,
    'the present version has no schedules': schedules.after.length > 0,
  });
  return {
    ...{ from: older.version, to: readVersion(), accepted: ids.length, phases, marks },
    requests: { sent: front.tries.sent, failed: front.failures.length, shed: front.shed.count },
    replays: { histories: recordings.length, broken },
    failedTasks: tasks.length,
    schedules: { before: startedBy(before), after: startedBy(schedules.after) },
    ...{ openRuns, findings, empty },
    passed: findings.length === 0 && empty.length === 0,
  };
}

/** The schedules of the present version are in place, each of them runs, and so do the runs of the old version's schedules. */
async function scheduleFindings({ installation, rollout, before, token }: Upgraded) {
  const { temporalAddress } = installation;
  if (!rollout.nextUrl) return { after: [], findings: ['the new API never started, so no schedule was looked at'] };
  const api = { url: rollout.nextUrl, token };
  try {
    const after = await whenReconciled(temporalAddress, api);
    return { after, findings: [...(await runAsBefore(temporalAddress, before)), ...(await runNow(api, after))] };
  } catch (error) {
    return { after: [], findings: [`the schedules: ${messageOf(error)}`] };
  }
}

function startedBy(schedules: readonly Scheduled[]): Record<string, string> {
  return Object.fromEntries(schedules.map(({ id, workflow, taskQueue }) => [id, `${workflow} at ${taskQueue}`]));
}

/** The lines that a person reads. */
export function tableFrom(report: OlderReport): string {
  const { from, to, replays, failedTasks, schedules } = report;
  const ids = new Set([...Object.keys(schedules.before), ...Object.keys(schedules.after)]);
  return [
    ...trafficLines(report),
    `from ${from} to ${to}: ${replays.histories} histories of runs on their way replayed by the new version, ` +
      `${replays.broken.length} break; ${failedTasks} workflow tasks failed`,
    ...[...ids].map((id) => `schedule ${id}: ${schedules.before[id] ?? 'none'}, then ${schedules.after[id] ?? 'none'}`),
    ...verdictLines(report),
  ].join('\n');
}
