import { parcel } from './parcel.js';

/** Milliseconds, as the settings below say them. */
export const STUCK_MS = 10_000;
export const SWEEP_MS = 5_000;
export const OLDEST_MS = 30_000;

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
  // The table of the test, for every process of the installation.
  NODE_OPTIONS: `--import ${new URL('./add-table.mjs', import.meta.url).href}`,
  ADDED_TABLE: JSON.stringify(parcel),
};
