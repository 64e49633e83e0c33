import { askedWaitMs, isRetryable } from './errors.js';

export interface CourierPolicy {
  /** Tries after which a delivery is given up. */
  tries: number;
  /** After the first failure; it doubles with each. */
  firstWaitMs: number;
}

/** A receiver that was away for a night is not left alone for longer than this, and none can ask for more. */
const LONGEST_WAIT_MS = 3_600_000;

/** How long to wait before a delivery that failed is tried again; null: it is given up. `chance` (0 to 1) spreads those that
 *  failed together, or they would all come back in the same moment. */
export function redeliveryDecision(policy: CourierPolicy, failed: { tries: number; error: unknown }, chance: number) {
  const { tries, error } = failed;
  if (tries >= policy.tries || !isRetryable(error)) return null;
  const backoffMs = policy.firstWaitMs * 2 ** Math.min(tries - 1, 30) * (1 + chance / 5);
  return Math.round(Math.min(LONGEST_WAIT_MS, Math.max(backoffMs, askedWaitMs(error))));
}
