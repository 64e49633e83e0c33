import { canary } from '../../src/domains/canary/table.js';
import { msOf } from '../../src/core/span.js';
import type { AttemptFact } from '../audit/recovery-facts.js';
import type { Inflicted } from './inflict.js';
import { type Fault, targetOf } from './plan.js';

/** What can make a claim count the attempt before it as a crash, the surest first: its process was killed, or stood still; its
 *  lock and beats could not be written; Temporal gave it up before it could miss a heartbeat. Trouble of the API, of the other
 *  worker, or of an earlier process of the same name can't. */
const CAUSES = ['killed', 'frozen', 'database', 'engine'] as const;
export type Cause = (typeof CAUSES)[number];

const CAUSE_OF: Readonly<Record<string, Cause>> = {
  postgres: 'database',
  workersToPostgres: 'database',
  temporal: 'engine',
  workersToTemporal: 'engine',
};

/** Every stage of a canary has the same. */
const HEARTBEAT_MS = msOf(canary.states.FIRST.does.beats ?? '0s');

/** How long after its end a fault still ends attempts that begin then. */
const AFTERMATH_MS: Readonly<Record<Cause, number>> = {
  // A claim that was on its way to the database when its process died.
  killed: 1_000,
  // What Temporal had handed to it and to others since: it claims on waking, and they claim it within a heartbeat timeout.
  frozen: HEARTBEAT_MS + 1_000,
  // A worker's lock is back after a look at its session (2 s) that is given up (5 s), and a wait before the next try (2 s).
  database: 9_000,
  // As of a frozen worker: what was handed out late is there twice.
  engine: HEARTBEAT_MS + 1_000,
};

/** The surest of the faults that may have ended this attempt; null: nothing excuses it. */
export function causeOf(attempt: AttemptFact, ledger: readonly Inflicted[]): Cause | null {
  const found = new Set(ledger.filter((each) => isBlamed(attempt, each)).map((each) => causeIn(each.fault)));
  return CAUSES.find((cause) => found.has(cause)) ?? null;
}

function isBlamed(attempt: AttemptFact, { fault, from, backAt, pid }: Inflicted): boolean {
  const cause = causeIn(fault);
  if (cause === null || from > attempt.endedAt) return false;
  const isOwn = CAUSE_OF[targetOf(fault)] !== undefined || isProcessOf(attempt, targetOf(fault), pid);
  // One that holds its lock and beats its row is taken over at no cost, unless it ran for less than a heartbeat timeout.
  const isTakenOver = cause === 'engine' && ranMs(attempt) >= HEARTBEAT_MS;
  return isOwn && !isTakenOver && attempt.startedAt.getTime() <= (backAt?.getTime() ?? Infinity) + AFTERMATH_MS[cause];
}

function causeIn(fault: Fault): Cause | null {
  const target = targetOf(fault);
  if (!target.startsWith('worker-')) return CAUSE_OF[target] ?? null;
  return fault.does.kind === 'kill' ? 'killed' : 'frozen';
}

function ranMs({ startedAt, endedAt }: AttemptFact): number {
  return endedAt.getTime() - startedAt.getTime();
}

/** A worker's id is `name@host:pid:random`. */
function isProcessOf({ worker }: AttemptFact, name: string, pid: number | null): boolean {
  const [ownName, place = ''] = worker.split('@');
  return ownName === name && Number(place.split(':').at(-2)) === pid;
}
