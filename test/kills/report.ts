import type { Campaign, Struck } from './campaign.js';
import { type Facts, longestGap, readFacts, readMarks } from './facts.js';
import { reasonIn } from './ledger.js';
import { PHASES } from './phases.js';
import { countOpenRuns } from './runs.js';
import { type Finding, findingsOf } from './verdict.js';

export interface KillReport {
  accepted: number;
  phases: PhaseReport[];
  findings: Explained[];
  /** Items, not findings: an item that lost two effects is one. */
  lost: number;
  doubled: number;
  stuck: number;
  badTrails: number;
  /** Looks at a live item that gave no reason for where it stands. */
  withoutReason: number;
  /** Runs that are still open although no item is live. */
  openRuns: number;
  /** Answers and failures that should not have been. */
  complaints: string[];
  requests: { sent: number; repeated: number };
  crashedAttempts: number;
  refusedCommits: number;
  seconds: number;
  passed: boolean;
}

export interface PhaseReport {
  phase: string;
  inFlight: number;
  killed: string;
  /** The longest time from the kill to the next phase in which nothing was finished although there was work. */
  longestGapMs: number;
  lost: number;
  doubled: number;
}

/** What is not done says why, in the words its owner is told. */
type Explained = Finding & { why?: string };

const NO_REASON = 'no reason is given';

/** Audits the database against the client's ledger. */
export async function auditCampaign(campaign: Campaign): Promise<KillReport> {
  const { installation, owner, ledger, client, struck } = campaign;
  const { pool } = installation;
  const facts = await readFacts(pool, owner);
  const found = findingsOf(facts, ledger.entries);
  const findings = await Promise.all(found.map((each) => explain(campaign, each)));
  const { crashed, refused } = await readMarks(pool);
  const stuck = itemsIn(found, 'stuck').length;
  const counts = {
    lost: itemsIn(found, 'lost').length,
    doubled: itemsIn(found, 'doubled').length,
    stuck,
    badTrails: itemsIn(found, 'trail').length,
    withoutReason: ledger.withoutReason.length + findings.filter(({ why }) => why === NO_REASON).length,
    openRuns: stuck > 0 ? 0 : await countOpenRuns(installation.temporalAddress),
  };
  const isClean = ledger.complaints.length === 0 && Object.values(counts).every((count) => count === 0);
  return {
    accepted: ledger.entries.filter(({ id }) => id !== null).length,
    phases: await Promise.all(struck.map((_, at) => reportPhase(campaign, at, facts, found))),
    findings,
    ...counts,
    complaints: ledger.complaints,
    requests: client.tries,
    crashedAttempts: crashed,
    refusedCommits: refused,
    seconds: campaign.seconds(),
    passed: isClean && struck.length === PHASES.length,
  };
}

async function explain({ client }: Campaign, finding: Finding): Promise<Explained> {
  if (finding.kind !== 'stuck') return finding;
  const item = await client.look(`/api/v1/items/${finding.itemId}`);
  return { ...finding, why: (item && reasonIn(item)) ?? NO_REASON };
}

async function reportPhase(campaign: Campaign, at: number, facts: Facts, found: Finding[]): Promise<PhaseReport> {
  const { struck, installation } = campaign;
  const { phase, at: since, inFlight, killed, concerned } = struck[at] as Struck;
  const until = struck[at + 1]?.at ?? new Date();
  // An item that nobody was told of belongs to the phase it appeared in.
  const appeared = facts.items.filter(({ createdAt }) => createdAt >= since && createdAt < until).map(({ id }) => id);
  const all = new Set([...concerned, ...appeared]);
  const among = (kind: Finding['kind']): number => itemsIn(found, kind).filter((id) => all.has(id)).length;
  const longestGapMs = await longestGap(installation.pool, since, until);
  return { phase, inFlight, killed, longestGapMs, lost: among('lost'), doubled: among('doubled') };
}

function itemsIn(findings: readonly Finding[], kind: Finding['kind']): string[] {
  return [...new Set(findings.filter((each) => each.kind === kind).map(({ itemId }) => itemId))];
}

/** Enough to see what kind of fault it is. */
const LINES_SHOWN = 50;

/** What a person reads: a line for each phase, then the totals and whatever was found. */
export function tableOf(report: KillReport): string {
  const head = ['phase', 'in flight', 'killed', 'longest gap', 'lost', 'doubled'];
  const rows = report.phases.map(({ phase, inFlight, killed, longestGapMs, lost, doubled }) =>
    [phase, inFlight, killed, `${(longestGapMs / 1_000).toFixed(1)} s`, lost, doubled].map(String),
  );
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  const { accepted, lost, doubled, stuck, badTrails, withoutReason, openRuns, requests, findings } = report;
  return [
    '',
    line(head),
    line(widths.map((width) => '-'.repeat(width))),
    ...rows.map(line),
    '',
    `${String(accepted)} canaries accepted: ${String(lost)} lost, ${String(doubled)} doubled, ${String(stuck)} stuck, ` +
      `${String(badTrails)} with a broken audit trail, ${String(withoutReason)} without a reason, ` +
      `${String(openRuns)} runs left open`,
    `${String(requests.sent)} requests, ${String(requests.repeated)} of them repeated; ` +
      `${String(report.crashedAttempts)} attempts died with their worker, ` +
      `${String(report.refusedCommits)} late commits were refused`,
    ...findings.slice(0, LINES_SHOWN).map(({ kind, itemId, what, why = '' }) => `  ${kind} ${itemId}: ${what} ${why}`),
    ...report.complaints.slice(0, LINES_SHOWN).map((each) => `  ${each}`),
    `${report.passed ? 'passed' : 'FAILED'} in ${String(report.seconds)} s`,
  ].join('\n');
}
