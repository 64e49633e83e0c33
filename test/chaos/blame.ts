import type { AttemptFact } from '../audit/recovery-facts.js';
import type { Inflicted } from './inflict.js';
import { targetOf } from './plan.js';

/** What a fault leaves behind shows for this long: a part that comes up again, a heartbeat timeout, an answer given up on. */
const AFTERMATH_MS = 15_000;

/** The faults of the ledger that may have ended this attempt: those that hit its worker, or what its worker needs, while it ran
 *  or shortly before. Trouble of the API, or of the other worker, ends no attempt. */
export function blamedFor(attempt: AttemptFact, ledger: readonly Inflicted[]): Inflicted[] {
  const concerned = new Set<string>([
    nameOf(attempt.worker),
    'postgres',
    'temporal',
    'workersToPostgres',
    'workersToTemporal',
  ]);
  return ledger.filter(({ fault, from, to }) => {
    const until = (to?.getTime() ?? Infinity) + AFTERMATH_MS;
    return concerned.has(targetOf(fault)) && from <= attempt.endedAt && until >= attempt.startedAt.getTime();
  });
}

/** A worker's id begins with its name. */
function nameOf(worker: string): string {
  return worker.split('@')[0] ?? worker;
}
