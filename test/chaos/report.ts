import { type Audit, type Audited, auditLedger, linesOf } from '../audit/audit.js';
import type { Facts } from '../audit/facts.js';
import { type AttemptFact, readRecovery, type RecoveryFacts } from '../audit/recovery-facts.js';
import { recoveryFindings } from '../audit/recovery-verdict.js';
import { textTable } from '../audit/text-table.js';
import { type Cause, causeOf } from './blame.js';
import type { Inflicted } from './inflict.js';
import { type Fault, overlapsIn, targetOf } from './plan.js';
import { differencesToApi } from './shown.js';

export interface Chaos extends Audited {
  plan: readonly Fault[];
  inflicted: readonly Inflicted[];
  healedAt: Date;
}

export interface ChaosReport extends Audit {
  faults: { kind: string; target: string; count: number; seconds: number }[];
  overlapping: number;
  /** From healing until the last item had ended; null: some have not. */
  lastItemMs: number | null;
  receipts: Record<string, number>;
  /** Recoveries without a receipt, receipts of nothing, receipts that were never completed, attempts without an end. */
  recovery: string[];
  /** Crashes that a fault of the ledger excuses, by the surest that does. */
  excused: Partial<Record<Cause, number>>;
  /** Crashes that no fault of the ledger explains. */
  unexplained: string[];
  /** What the API shows otherwise than the database has it. */
  differences: string[];
  rescues: number;
  exhausted: number;
  poison: number;
  errorTries: Record<string, number>;
  mostErrors: number;
  mostCrashes: number;
  passed: boolean;
}

/** Healed installations must have nothing left to do after this. */
export const DONE_WITHIN_MS = 60_000;

/** Holds the database and the API against the ledgers of client and faults. */
export async function auditChaos(chaos: Chaos): Promise<ChaosReport> {
  const { installation, owner, inflicted, plan, healedAt } = chaos;
  const { audit, facts } = await auditLedger(chaos);
  const recovery = await readRecovery(installation.pool, owner);
  const found = recoveryFindings(recovery).map(({ kind, itemId, what }) => `${kind} ${itemId}: ${what}`);
  const unexplained = unexplainedIn(recovery, inflicted);
  const differences = await differencesToApi(chaos, facts, recovery);
  const acts = (trigger: string): number => recovery.acts.filter((each) => each.trigger === trigger).length;
  const counts = { rescues: acts('rescue'), exhausted: acts('stuck-exhausted'), poison: acts('poison') };
  const lastItemMs = lastEndedMs(facts, healedAt);
  const isPunctual = lastItemMs !== null && lastItemMs <= DONE_WITHIN_MS;
  const faults = inflicted.filter(({ to }) => to !== null).length;
  return {
    ...audit,
    faults: byTarget(inflicted),
    overlapping: overlapsIn(plan),
    lastItemMs,
    receipts: countsOf(recovery.receipts.map(({ reason, result }) => `${reason} ${result}`)),
    recovery: found,
    excused: countsOf(crashesIn(recovery).flatMap((each) => causeOf(each, inflicted) ?? [])),
    unexplained,
    differences,
    ...counts,
    errorTries: countsOf(
      recovery.attempts.filter(({ result }) => result === 'error').map(({ errorClass }) => String(errorClass)),
    ),
    mostErrors: Math.max(0, ...recovery.tasks.map(({ errors }) => errors)),
    mostCrashes: Math.max(0, ...recovery.tasks.map(({ crashes }) => crashes)),
    passed:
      audit.isClean &&
      isPunctual &&
      faults === plan.length &&
      found.length + unexplained.length + differences.length === 0 &&
      Object.values(counts).every((count) => count === 0),
  };
}

function crashesIn({ attempts }: RecoveryFacts): AttemptFact[] {
  return attempts.filter(({ result }) => result === 'crash');
}

function unexplainedIn(recovery: RecoveryFacts, inflicted: readonly Inflicted[]): string[] {
  return crashesIn(recovery)
    .filter((each) => causeOf(each, inflicted) === null)
    .map(
      ({ itemId, stage, unit, worker, startedAt, endedAt }) =>
        `${itemId} ${stage} ${unit} on ${worker}, ${startedAt.toISOString()} to ${endedAt.toISOString()}`,
    );
}

function lastEndedMs({ items }: Facts, healedAt: Date): number | null {
  if (items.some(({ endedAt }) => endedAt === null)) return null;
  return Math.max(0, ...items.map(({ endedAt }) => (endedAt?.getTime() ?? 0) - healedAt.getTime()));
}

function countsOf(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

function byTarget(inflicted: readonly Inflicted[]): ChaosReport['faults'] {
  const all = new Map<string, ChaosReport['faults'][number]>();
  for (const { fault } of inflicted) {
    const [kind, target] = [fault.does.kind, targetOf(fault)];
    const line = all.get(`${kind} ${target}`) ?? { kind, target, count: 0, seconds: 0 };
    all.set(`${kind} ${target}`, line);
    line.count += 1;
    line.seconds = Math.round(line.seconds * 10 + fault.forMs / 100) / 10;
  }
  return [...all.values()].toSorted((one, other) =>
    `${one.kind}${one.target}`.localeCompare(`${other.kind}${other.target}`),
  );
}

/** How many of the crashes a fault excuses, and which: one that is excused by trouble of the database alone is less sure. */
function shareOfExcused({ excused, unexplained }: ChaosReport): string {
  const count = Object.values(excused).reduce((sum, each) => sum + each, 0);
  const all = count + unexplained.length;
  const by = Object.entries(excused).map(([cause, n]) => `${cause} ${String(n)}`);
  const share = all === 0 ? 'none' : `${String(count)} (${((100 * count) / all).toFixed(0)} %)`;
  return `${String(all)} crashes, of which a fault excuses ${share}: ${by.join(', ') || 'none'}`;
}

/** Enough to see what kind of fault it is. */
const LINES_SHOWN = 50;

/** What a person reads: a line for each kind of fault, then the totals and whatever was found. */
export function tableOf(report: ChaosReport): string {
  const rows = report.faults.map(({ kind, target, count, seconds }) => [kind, target, count, `${String(seconds)} s`]);
  const said = (counts: Record<string, number>): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${String(count)}`)
      .join(', ') || 'none';
  const last = report.lastItemMs === null ? 'never' : `${(report.lastItemMs / 1_000).toFixed(1)} s after healing`;
  const { recovery, unexplained, differences, rescues, exhausted, poison } = report;
  return [
    '',
    ...textTable(['fault', 'of', 'times', 'in all'], rows),
    '',
    ...linesOf(report),
    `the last item ended ${last}; receipts: ${said(report.receipts)}`,
    `${String(rescues)} rescues, ${String(exhausted)} exhausted, ${String(poison)} poison; error tries spent: ` +
      `${said(report.errorTries)}; at most ${String(report.mostErrors)} of its three and ${String(report.mostCrashes)} crashes of a task`,
    shareOfExcused(report),
    `${String(recovery.length)} findings among recoveries and receipts, ${String(unexplained.length)} crashes without a fault, ` +
      `${String(differences.length)} differences between API and database`,
    ...[...recovery, ...unexplained, ...differences].slice(0, LINES_SHOWN).map((each) => `  ${each}`),
    report.passed ? 'passed' : 'FAILED',
  ].join('\n');
}
