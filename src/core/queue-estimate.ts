/** What a queue got done lately. */
export interface Throughput {
  ended: number;
  /** Over how long that was counted; 0: nobody has counted. */
  overMs: number;
  /** Until when nothing goes on; null: it is not paused. */
  pausedUntil: Date | null;
}

export type Estimate = { seconds: number; why: null } | { seconds: null; why: string };

/** How long it takes until everything up to a place in the queue has ended, if it goes on as lately. What can't be known is
 *  null and says why. */
export function estimateOf(position: number, { ended, overMs, pausedUntil }: Throughput): Estimate {
  if (pausedUntil) return { seconds: null, why: `the queue is paused until ${pausedUntil.toISOString()}` };
  if (overMs <= 0) return { seconds: null, why: 'nothing has been counted in the last 6 hours' };
  if (ended === 0) return { seconds: null, why: 'nothing has ended in the last 6 hours' };
  return { seconds: Math.ceil((position * overMs) / ended / 1_000), why: null };
}
