import { z } from 'zod';
import type { Aggregate } from '../db/aggregates.js';

/** When figures were computed, which no request does: a schedule has done it before. */
export const Computed = z.object({
  computedAt: z.iso.datetime().nullable().describe('Null: not yet; the schedule stats-refresh does it'),
  ageSeconds: z.number().nullable(),
});

export function computedOf(aggregate: Aggregate<unknown> | null): z.output<typeof Computed> {
  if (!aggregate) return { computedAt: null, ageSeconds: null };
  return { computedAt: aggregate.computedAt.toISOString(), ageSeconds: aggregate.ageMs / 1_000 };
}
