import type { Pipeline } from './pipeline.js';
import { msOf } from './span.js';

/** The rescues that an item's row records. */
export interface RescueRecord {
  rescues: number;
  lastRescueAt: Date | null;
}

/** The sweep's action on an item whose run is gone and whose backoff is over. */
export type SweepVerdict = 'rescue' | 'exhaust' | 'park';

/** The rescues that still count. Rescues of long ago are forgotten, because they say nothing about the item now. */
export function rescuesCounted({ rescue }: Pipeline, item: RescueRecord, now: Date): number {
  const { rescues, lastRescueAt } = item;
  const isForgotten = lastRescueAt !== null && msBetween(lastRescueAt, now) >= msOf(rescue.budgetResetAfter);
  return isForgotten ? 0 : rescues;
}

/** The wait after a rescue, by the number of rescues before it. The last span of the list holds for all further
 *  rescues. */
export function backoffMs({ rescue }: Pipeline, rescuesBefore: number): number {
  const span = rescue.backoff[Math.min(rescuesBefore, rescue.backoff.length - 1)];
  return span === undefined ? 0 : msOf(span);
}

/** `isFree`: the item is not at fault, so its budget is not asked. */
export function sweepVerdict(
  pipeline: Pipeline,
  item: RescueRecord,
  look: { lastSignAt: Date; now: Date; isFree: boolean },
): SweepVerdict {
  if (msBetween(look.lastSignAt, look.now) > msOf(pipeline.rescue.oldestRescued)) return 'park';
  if (look.isFree) return 'rescue';
  return rescuesCounted(pipeline, item, look.now) >= pipeline.rescue.budget ? 'exhaust' : 'rescue';
}

function msBetween(from: Date, to: Date): number {
  return to.getTime() - from.getTime();
}
