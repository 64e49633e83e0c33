import { z } from 'zod';
import { PIPELINES } from '../domains/tables.js';
import { beatsText, spansText, spanText, whole } from './values.js';

/** Every pipeline's thresholds can be set, by variables with its name in front: `<PIPELINE>_SWEEP_EVERY` and so on. */
export const PIPELINE_NAMES = Object.keys(PIPELINES);

export function prefixOf(pipeline: string): string {
  return `${pipeline.toUpperCase().replaceAll('-', '_')}_`;
}

export const overlay = z.object({
  SWEEP_EVERY: spanText.optional(),
  STALE_AFTER: spanText.optional(),
  STUCK_AFTER: spanText.optional(),
  BEATS: beatsText.optional(),
  RESCUE_BUDGET: whole(0, 1_000).optional(),
  RESCUE_BACKOFF: spansText.optional(),
  RESCUE_FORGOTTEN_AFTER: spanText.optional(),
  RESCUE_OLDEST: spanText.optional(),
  MAX_LIVE_PER_OWNER: whole(1, 1_000_000).optional(),
});

export type PipelineOverlay = ReturnType<typeof overlayOf>;

/** A setting that is not set is undefined, and the pipeline's table holds. */
export function overlayOf(given: z.output<typeof overlay>) {
  return {
    sweep: { every: given.SWEEP_EVERY, staleAfter: given.STALE_AFTER, stuckAfter: given.STUCK_AFTER },
    beats: given.BEATS,
    rescue: {
      budget: given.RESCUE_BUDGET,
      backoff: given.RESCUE_BACKOFF,
      budgetResetAfter: given.RESCUE_FORGOTTEN_AFTER,
      oldestRescued: given.RESCUE_OLDEST,
    },
    livePerOwner: given.MAX_LIVE_PER_OWNER,
  };
}

/** The variables of one pipeline, without the pipeline's prefix. */
export function withoutPrefix(
  pipeline: string,
  given: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  const prefix = prefixOf(pipeline);
  const ours = Object.entries(given).filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(ours.map(([name, value]) => [name.slice(prefix.length), value]));
}
