import { stageOf } from '../../../../core/machine.js';
import { msOf } from '../../../../core/span.js';
import { DEFAULT_BEATS } from '../../../../core/step.js';
import { canary } from '../../table.js';
import type { Limits } from './verdict.js';

/** The limits that every installation must keep, on any machine. */
export const LIMITS: Limits = {
  /** The heartbeat timeout and Temporal's delay before it tries again, doubled for a busy machine. */
  elsewhereMs: 6_000,
  /** The heartbeat timeout. Once a frozen worker has missed it, no session may still wait for that worker's lock. */
  lockWaitMs: msOf(stageOf(canary, 'second').row.beats ?? DEFAULT_BEATS),
};
