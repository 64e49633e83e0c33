/** How fast a queue went lately while there was work, and what keeps it from going on now. */
export interface Throughput {
  /** Submissions whose automatic work ended in the last 6 hours, the latest. */
  sampleSize: number;
  /** What half of them took, without the time that they waited between two steps. */
  typicalMs: number;
  /** How long at least one of them was worked on, and the time that they took all together. */
  busyMs: number;
  workMs: number;
  /** Until when nothing goes on; null: it is not paused. */
  pausedUntil: Date | null;
  /** What holds them back, and when the next of them is let through. */
  breaker: { nextPassAt: Date } | null;
  /** Workers that are there. */
  workers: number;
}

export interface EstimateBasis {
  sampleSize: number;
  typicalSeconds: number;
  atOnce: number;
}

export type Estimate =
  { seconds: number; why: null; basis: EstimateBasis } | { seconds: null; why: string; basis: EstimateBasis | null };

/** Fewer say nothing of the next. */
const MIN_SAMPLE = 3;

/** How long it takes until everything up to a place in the queue has been worked on, if that goes as fast as it did lately
 *  while there was work: idle hours say nothing of how long work takes. What can't be known is null and says why. */
export function estimateOf(position: number, throughput: Throughput, isPaused = false): Estimate {
  const { sampleSize, typicalMs, busyMs } = throughput;
  const basis = sampleSize > 0 ? basisOf(throughput) : null;
  const why = isPaused ? 'it is paused' : whyUnknown(throughput);
  if (why !== null || !basis) return { seconds: null, why: why ?? NOTHING, basis };
  const queueMs = (position * busyMs) / sampleSize;
  return { seconds: Math.ceil(Math.max(typicalMs, queueMs) / 1_000), why: null, basis };
}

const NOTHING = 'nothing has ended in the last 6 hours';

function whyUnknown({ pausedUntil, breaker, workers, sampleSize }: Throughput): string | null {
  if (pausedUntil) return `the queue is paused until ${pausedUntil.toISOString()}`;
  if (workers === 0) return 'no worker is there at the moment';
  if (breaker)
    return `something that submissions need fails; the next one is let through at ${breaker.nextPassAt.toISOString()}`;
  if (sampleSize === 0) return NOTHING;
  return sampleSize < MIN_SAMPLE ? `only ${String(sampleSize)} ended in the last 6 hours, too few to tell` : null;
}

function basisOf({ sampleSize, typicalMs, busyMs, workMs }: Throughput): EstimateBasis {
  return {
    sampleSize,
    typicalSeconds: Math.round(typicalMs) / 1_000,
    atOnce: busyMs > 0 ? Math.round((10 * workMs) / busyMs) / 10 : 1,
  };
}
