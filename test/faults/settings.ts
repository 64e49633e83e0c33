import { parcel } from './parcel.js';

/** Milliseconds, as the settings below say them. */
export const STUCK_MS = 10_000;
export const SWEEP_MS = 5_000;
export const OLDEST_MS = 30_000;

/** How long a fault may go unseen: the time that its mechanism takes, and ten seconds more for a busy machine. */
const BUSY_MS = 10_000;
export const SEEN_MS = {
  /** Two seconds at most, a heartbeat timeout: the row says it. */
  byRow: 2_000 + BUSY_MS,
  /** Temporal is asked five seconds after the last sign of life, and given five to answer. */
  byTemporal: 10_000 + BUSY_MS,
  /** A silent worker counts as there for twenty seconds, and says so every five. */
  bySilence: 25_000 + BUSY_MS,
  /** Workers must come up again, and one of them sweep. */
  bySweep: SWEEP_MS + 2 * BUSY_MS,
} as const;

/** Stages that the two workers can run at once: few, so that a handful of items fills them. */
export const SLOTS = 12;

/** Shorter thresholds than the canary's own, so that what must be waited for comes soon; a longer backoff after a rescue, so that
 *  it can be looked at. What is done at each threshold is the same. */
export const SETTINGS: Record<string, string> = {
  CANARY_SWEEP_EVERY: `${String(SWEEP_MS)}ms`,
  CANARY_STUCK_AFTER: `${String(STUCK_MS)}ms`,
  CANARY_RESCUE_BACKOFF: '12s',
  CANARY_RESCUE_OLDEST: `${String(OLDEST_MS)}ms`,
  BREAKER_PROBE_AFTER: '12s',
  BREAKER_PROBE_MAX: '24s',
  WORKER_MAX_ACTIVITIES: String(SLOTS / 2),
  // One place, so that two suspects show how the second waits.
  ISOLATED_STAGES: '1',
  // The table of the test, for every process of the installation.
  NODE_OPTIONS: `--import ${new URL('./add-table.mjs', import.meta.url).href}`,
  ADDED_TABLE: JSON.stringify(parcel),
};
