/** The speed of a queue in its recent busy hours, and the obstacles that stop it now. */
export interface Throughput {
  /** The latest items whose automatic work ended in the last 6 hours. */
  sampleSize: number;
  /** The median time that an item took, without the time that it waited between two steps. */
  typicalMs: number;
  /** The time in which at least one of the items was worked on, and the sum of the times of all items. */
  busyMs: number;
  workMs: number;
  /** The end of the pipeline's pause. Null: the pipeline is not paused. */
  pausedUntil: Date | null;
  /** The breaker that holds items back, and when it lets the next item through. */
  breaker: { nextPassAt: Date } | null;
  /** Present workers that serve the pipeline. */
  workers: number;
}

export interface EstimateBasis {
  sampleSize: number;
  typicalSeconds: number;
  atOnce: number;
}

export type Estimate =
  { seconds: number; why: null; basis: EstimateBasis } | { seconds: null; why: string; basis: EstimateBasis | null };

/** A smaller sample predicts nothing. */
const MIN_SAMPLE = 3;

/** Estimates when the item's turn has been worked off, at the recent speed of busy hours. Unknown: null, with the reason. */
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
    return `something that the items need fails; the next item is let through at ${breaker.nextPassAt.toISOString()}`;
  if (sampleSize === 0) return NOTHING;
  return sampleSize < MIN_SAMPLE ? `only ${sampleSize} ended in the last 6 hours, too few to tell` : null;
}

function basisOf({ sampleSize, typicalMs, busyMs, workMs }: Throughput): EstimateBasis {
  return {
    sampleSize,
    typicalSeconds: Math.round(typicalMs) / 1_000,
    atOnce: busyMs > 0 ? Math.round((10 * workMs) / busyMs) / 10 : 1,
  };
}
