import { type Audit, auditLedger, itemsIn, linesOf } from '../audit/audit.js';
import { type Facts, longestGap } from '../audit/facts.js';
import { textTable } from '../audit/text-table.js';
import type { Finding } from '../audit/verdict.js';
import type { Campaign, Struck } from './campaign.js';
import { PHASES } from './phases.js';

export interface KillReport extends Audit {
  phases: PhaseReport[];
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

/** Audits the database against the client's ledger, phase by phase. */
export async function auditCampaign(campaign: Campaign): Promise<KillReport> {
  const { audit, facts } = await auditLedger(campaign);
  const { struck } = campaign;
  return {
    ...audit,
    phases: await Promise.all(struck.map((_, at) => reportPhase(campaign, at, facts, audit.findings))),
    seconds: campaign.seconds(),
    passed: audit.isClean && struck.length === PHASES.length,
  };
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

/** What a person reads: a line for each phase, then the totals and whatever was found. */
export function tableOf(report: KillReport): string {
  const head = ['phase', 'in flight', 'killed', 'longest gap', 'lost', 'doubled'];
  const rows = report.phases.map(({ phase, inFlight, killed, longestGapMs, lost, doubled }) => [
    ...[phase, inFlight, killed, `${(longestGapMs / 1_000).toFixed(1)} s`, lost, doubled],
  ]);
  const verdict = `${report.passed ? 'passed' : 'FAILED'} in ${String(report.seconds)} s`;
  return ['', ...textTable(head, rows), '', ...linesOf(report), verdict].join('\n');
}
