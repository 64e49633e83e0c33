import type { Alias } from '../../../config/settings-part.js';
import { intervalCronText, whole } from '../../../config/values.js';

/** A day: recovery that begins later than that is none. */
const MAX_THRESHOLD_MS = 86_400_000;

/** The names that operators of uploads know for the thresholds of the pipeline's table. */
export const recoveryAliases: Readonly<Record<string, Alias>> = {
  STUCK_FILE_THRESHOLD_MS: {
    of: 'FILE_STUCK_AFTER',
    value: whole(1_000, MAX_THRESHOLD_MS).transform((ms) => `${ms}ms`),
  },
  MAX_STUCK_RETRIES: { of: 'FILE_RESCUE_BUDGET', value: whole(0, 1_000).transform(String) },
  STUCK_RECOVERY_SCHEDULE: { of: 'FILE_SWEEP_EVERY', value: intervalCronText },
};
