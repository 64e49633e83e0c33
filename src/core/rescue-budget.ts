import type { Pipeline } from './pipeline.js';
import { msOf } from './span.js';

/** What an item's row remembers of its rescues. */
export interface RescueRecord {
  rescues: number;
  lastRescueAt: Date | null;
}

/** What the sweep does with an item whose run is gone, once no backoff runs. */
export type Verdict = 'rescue' | 'exhaust' | 'park';

/** The rescues that still count: trouble of long ago says nothing about today's. */
export function rescuesCounted({ rescue }: Pipeline, item: RescueRecord, now: Date): number {
  const { rescues, lastRescueAt } = item;
  const isForgotten = lastRescueAt !== null && msBetween(lastRescueAt, now) >= msOf(rescue.budgetResetAfter);
  return isForgotten ? 0 : rescues;
}

/** How long nothing is done after a rescue that follows so many others; the last span holds for all further ones. */
export function backoffMs({ rescue }: Pipeline, rescuesBefore: number): number {
  const span = rescue.backoff[Math.min(rescuesBefore, rescue.backoff.length - 1)];
  return span === undefined ? 0 : msOf(span);
}

/** `isFree`: nothing the item did made it stop, so its budget is not asked. */
export function verdictOf(
  pipeline: Pipeline,
  item: RescueRecord,
  look: { lastSignAt: Date; now: Date; isFree: boolean },
): Verdict {
  if (msBetween(look.lastSignAt, look.now) > msOf(pipeline.rescue.oldestRescued)) return 'park';
  if (look.isFree) return 'rescue';
  return rescuesCounted(pipeline, item, look.now) >= pipeline.rescue.budget ? 'exhaust' : 'rescue';
}

function msBetween(from: Date, to: Date): number {
  return to.getTime() - from.getTime();
}
