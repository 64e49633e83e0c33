import { stageOf } from '../../core/machine.js';
import { msOf } from '../../core/span.js';
import { DEFAULT_BEATS } from '../../core/step.js';
import { canary } from '../../domains/canary/table.js';
import type { Limits } from '../../domains/canary/start/drill/verdict.js';

/** What every installation is held to, on any machine. */
export const LIMITS: Limits = {
  /** The heartbeat timeout, Temporal's delay before it tries again, and as much again for a machine that is busy. */
  elsewhereMs: 6_000,
  /** The heartbeat timeout: nobody may wait for a frozen worker's lock once it is missed. */
  lockWaitMs: msOf(stageOf(canary, 'second').row.beats ?? DEFAULT_BEATS),
};
