import { askedWaitMs, isRetryable } from './errors.js';

export interface CourierPolicy {
  /** Tries after which a delivery is given up. */
  tries: number;
  /** The wait after the first failure. It doubles with each further failure. */
  firstWaitMs: number;
}

/** A receiver that was away for a night gets its notice at most this late, and no receiver can ask for a longer
 *  wait. */
const LONGEST_WAIT_MS = 3_600_000;

/** How long to wait before a failed delivery is tried again; null: it is given up. `chance` (0 to 1) spreads deliveries
 *  that failed together, or all of them would come back at the same moment. */
export function redeliveryDecision(policy: CourierPolicy, failed: { tries: number; error: unknown }, chance: number) {
  const { tries, error } = failed;
  if (tries >= policy.tries || !isRetryable(error)) return null;
  const backoffMs = policy.firstWaitMs * 2 ** Math.min(tries - 1, 30) * (1 + chance / 5);
  return Math.round(Math.min(LONGEST_WAIT_MS, Math.max(backoffMs, askedWaitMs(error))));
}
