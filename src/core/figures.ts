/** The upper bounds of the buckets that durations are counted in, in milliseconds. They hold every target that a domain promises,
 *  so that the share of durations within a target is exact. A change needs a migration of the stored buckets. */
export const BUCKET_BOUNDS_MS = [
  ...[5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 15_000, 30_000, 60_000],
  ...[120_000, 300_000, 600_000, 1_800_000, 3_600_000, 86_400_000],
] as const;

/** Counted durations. The last bucket holds the durations above every bound. */
export interface Durations {
  count: number;
  sumMs: number;
  buckets: readonly number[];
}

/** Figures that attempts or moves of one kind add up to. */
export interface Figure extends Durations {
  pipeline: string;
  kind: 'attempt' | 'move' | 'end';
  /** For an attempt, its stage. For a move, the state that the item left, or '' if the move created the item. For an end, ''. */
  stage: string;
  /** For an attempt, the stage's word, or how the attempt ended without one. For a move or an end, the state that the item came to. */
  outcome: string;
  /** For an attempt, its error class or ''. For a move or an end, how it came about: `created`, `decided` by a person, `cancelled`,
   *  `given_up` (tries were spent, or recovery could not drive the item on), or '' for a stage's outcome. */
  class: string;
}

export const NO_DURATIONS: Durations = { count: 0, sumMs: 0, buckets: [...BUCKET_BOUNDS_MS, Infinity].map(() => 0) };

export function addDurations(all: readonly Durations[]): Durations {
  return all.reduce(
    (sum, each) => ({
      count: sum.count + each.count,
      sumMs: sum.sumMs + each.sumMs,
      buckets: sum.buckets.map((count, n) => count + (each.buckets[n] ?? 0)),
    }),
    NO_DURATIONS,
  );
}

/** How many durations are not above a bound, which must be one of the bounds. */
export function countWithin({ buckets }: Durations, boundMs: number): number {
  const place = BUCKET_BOUNDS_MS.findIndex((bound) => bound === boundMs);
  if (place === -1) throw new RangeError(`${boundMs} ms is no bound of a bucket`);
  return sumOf(buckets.slice(0, place + 1));
}

/** The duration that this share of all durations does not exceed, in milliseconds, as if the durations of a bucket lay evenly
 *  between its bounds. Above the last bound it is that bound. Null: nothing was counted. */
export function quantileOf({ count, buckets }: Durations, share: number): number | null {
  if (count === 0) return null;
  const wanted = count * share;
  let below = 0;
  for (const [n, bound] of BUCKET_BOUNDS_MS.entries()) {
    const within = buckets[n] ?? 0;
    const from = BUCKET_BOUNDS_MS[n - 1] ?? 0;
    if (within > 0 && below + within >= wanted) return from + ((bound - from) * (wanted - below)) / within;
    below += within;
  }
  return BUCKET_BOUNDS_MS.at(-1) ?? null;
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** The outcomes of attempts that ended without a word of their stage. */
const UNDONE: readonly string[] = ['error', 'unbegun', 'crash', 'shutdown', 'superseded', 'given_back'];

/** The attempts at a stage that gave an outcome. */
export function doneAttempts(figures: readonly Figure[], pipeline: string, stage: string): Figure[] {
  return figures.filter(
    (each) =>
      each.kind === 'attempt' && each.pipeline === pipeline && each.stage === stage && !UNDONE.includes(each.outcome),
  );
}
