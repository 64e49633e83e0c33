import type { Installation } from '../support/installation.js';
import type { Client } from './client.js';
import { type Facts, readFacts, readMarks } from './facts.js';
import { inLanes, type Ledger, reasonIn } from './ledger.js';
import { countOpenRuns } from './runs.js';
import { type Finding, findingsOf } from './verdict.js';

/** One client's side of what was done to an installation. */
export interface Audited {
  installation: Installation;
  owner: string;
  client: Client;
  ledger: Ledger;
}

export interface Audit {
  accepted: number;
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
  isClean: boolean;
}

/** What is not done says why, in the words its owner is told. */
type Explained = Finding & { why?: string };

/** Enough to see what kind of fault it is. */
const LINES_SHOWN = 50;

const NO_REASON = 'no reason is given';

/** Holds the database against the client's ledger. */
export async function auditLedger(audited: Audited): Promise<{ audit: Audit; facts: Facts }> {
  const { installation, owner, ledger, client } = audited;
  const facts = await readFacts(installation.pool, owner);
  const found = findingsOf(facts, ledger.entries);
  const findings = await explained(client, found);
  const { crashed, refused } = await readMarks(installation.pool);
  const stuck = itemsIn(found, 'stuck').length;
  const counts = {
    lost: itemsIn(found, 'lost').length,
    doubled: itemsIn(found, 'doubled').length,
    stuck,
    badTrails: itemsIn(found, 'trail').length,
    withoutReason: ledger.withoutReason.length + findings.filter(({ why }) => why === NO_REASON).length,
    openRuns: stuck > 0 ? 0 : await countOpenRuns(installation.temporalAddress),
  };
  const audit: Audit = {
    accepted: ledger.entries.filter(({ id }) => id !== null).length,
    findings,
    ...counts,
    complaints: ledger.complaints,
    requests: client.tries,
    crashedAttempts: crashed,
    refusedCommits: refused,
    isClean: ledger.complaints.length === 0 && Object.values(counts).every((count) => count === 0),
  };
  return { audit, facts };
}

/** Asks for the reason of the first ones: if many are stuck, they are stuck for the same. */
async function explained(client: Client, found: readonly Finding[]): Promise<Explained[]> {
  const all: Explained[] = found.map((each) => ({ ...each }));
  const stuck = all.filter(({ kind }) => kind === 'stuck');
  await inLanes(stuck.slice(0, LINES_SHOWN), async (finding) => {
    const item = await client.look(`/api/v1/items/${finding.itemId}`);
    finding.why = (item && reasonIn(item)) ?? NO_REASON;
  });
  return all;
}

export function itemsIn(findings: readonly Finding[], kind: Finding['kind']): string[] {
  return [...new Set(findings.filter((each) => each.kind === kind).map(({ itemId }) => itemId))];
}

/** The totals and whatever was found. */
export function linesOf(audit: Audit): string[] {
  const { accepted, lost, doubled, stuck, badTrails, withoutReason, openRuns, requests, findings } = audit;
  return [
    `${String(accepted)} canaries accepted: ${String(lost)} lost, ${String(doubled)} doubled, ${String(stuck)} stuck, ` +
      `${String(badTrails)} with a broken audit trail, ${String(withoutReason)} without a reason, ` +
      `${String(openRuns)} runs left open`,
    `${String(requests.sent)} requests, ${String(requests.repeated)} of them repeated; ` +
      `${String(audit.crashedAttempts)} attempts died with their worker, ` +
      `${String(audit.refusedCommits)} late commits were refused`,
    ...findings.slice(0, LINES_SHOWN).map(({ kind, itemId, what, why = '' }) => `  ${kind} ${itemId}: ${what} ${why}`),
    ...audit.complaints.slice(0, LINES_SHOWN).map((each) => `  ${each}`),
  ];
}
