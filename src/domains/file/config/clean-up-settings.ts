import type { z } from 'zod';
import { msOf } from '../../../core/span.js';
import { cronText, keptText, whole } from '../../../config/values.js';

/** A month in milliseconds: a longer wait is a mistake of the unit. */
const LONGEST_MS = 2_678_400_000;

/** Clean-up and the dashboard. The names and defaults are those of the specification. */
export const cleanUpVariables = {
  // A day: nobody uploads for so long, and a signed upload has expired.
  ABANDONED_UPLOAD_THRESHOLD_MS: whole(1_000, LONGEST_MS).default(86_400_000),
  // The owner is warned a week before that.
  FAILED_FILE_RETENTION_DAYS: whole(1, 3_650).default(30),
  ORPHAN_CLEANUP_SCHEDULE: cronText.default({ dailyAt: '03:00' }),
  BATCH_TIMEOUT_SCHEDULE: cronText.default({ every: '1h' }),
  // As long as receipts: an upload that is questioned can be looked into for a quarter of a year.
  UPLOAD_BATCHES_KEPT: keptText.default('90d'),
  // In seconds. 0: every figure is read anew.
  DASHBOARD_CACHE_TTL: whole(0, 86_400).default(300),
};

type Given = z.output<z.ZodObject<typeof cleanUpVariables>>;

export function cleanUpOf(given: Given) {
  return {
    abandonedAfterMs: given.ABANDONED_UPLOAD_THRESHOLD_MS,
    failedKeptDays: given.FAILED_FILE_RETENTION_DAYS,
    orphanCleanupWhen: given.ORPHAN_CLEANUP_SCHEDULE,
    batchTimeoutWhen: given.BATCH_TIMEOUT_SCHEDULE,
    batchesKeptMs: msOf(given.UPLOAD_BATCHES_KEPT),
    dashboardCacheMs: given.DASHBOARD_CACHE_TTL * 1_000,
  };
}

export type CleanUpSettings = ReturnType<typeof cleanUpOf>;

/** A batch promises until when it takes bytes, so no file of it may be deleted as abandoned before that. */
export function cleanUpProblemsIn(given: Given & { BATCH_TIMEOUT_MS: number }): string[] {
  if (given.ABANDONED_UPLOAD_THRESHOLD_MS >= given.BATCH_TIMEOUT_MS) return [];
  const expected = `at least BATCH_TIMEOUT_MS, ${given.BATCH_TIMEOUT_MS}, because a batch takes bytes for so long`;
  return [`ABANDONED_UPLOAD_THRESHOLD_MS: expected ${expected}, got ${given.ABANDONED_UPLOAD_THRESHOLD_MS}`];
}
