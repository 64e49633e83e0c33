import { countWithin, type Durations, quantileOf } from '../../../core/figures.js';
import { addBusinessDays, businessDaysBetween } from './business-days.js';

/** The times that submissions are promised, where no setting says others. `typical` is compared with the median, `p95` with the 95th
 *  percentile. */
export const DEFAULT_SLA = {
  tier1: {
    typical: 500,
    p95: 1_000,
    unit: 'ms',
    measures: 'attempts at scanTier1 that gave an outcome, from claim to commit; fetching is not part of it',
  },
  tier2: {
    typical: 15_000,
    p95: 30_000,
    unit: 'ms',
    measures: 'attempts at judgeTier2 that gave an outcome, from claim to commit',
  },
  approveToPublish: { typical: 5_000, p95: 10_000, unit: 'ms', measures: 'from AUTO_APPROVED to PUBLISHED' },
  endToEnd: {
    typical: 30_000,
    p95: 60_000,
    unit: 'ms',
    measures: 'from RECEIVED to the end, of those that no person reviewed or cancelled',
  },
  review: {
    typical: 5,
    p95: 10,
    unit: 'business_days',
    measures: 'from NEEDS_REVIEW to the end; Saturdays and Sundays in UTC do not count',
  },
} as const satisfies Record<string, SlaTarget>;

export type SlaName = keyof typeof DEFAULT_SLA;

export const SLA_NAMES = Object.keys(DEFAULT_SLA) as SlaName[];

export type SlaTargets = Readonly<Record<SlaName, SlaTarget>>;

export interface SlaTarget {
  typical: number;
  p95: number;
  unit: 'ms' | 'business_days';
  /** Where the measured time begins and ends, in words. */
  measures: string;
}

export interface SlaFigure {
  sampleSize: number;
  /** Null: nothing was measured. */
  p50: number | null;
  p95: number | null;
  /** How many values of the sample stayed within the typical target, and within the target of the 95th percentile. */
  withinTypical: number;
  withinP95: number;
  /** The targets that the values were counted against. */
  against: { typical: number; p95: number };
}

/** Quantiles are estimated within their bucket. The shares within the targets are exact, because the targets are bounds of
 *  buckets. */
export function slaOfDurations(durations: Durations, { typical, p95 }: SlaTarget): SlaFigure {
  return {
    sampleSize: durations.count,
    p50: quantileOf(durations, 0.5),
    p95: quantileOf(durations, 0.95),
    withinTypical: countWithin(durations, typical),
    withinP95: countWithin(durations, p95),
    against: { typical, p95 },
  };
}

export function slaOfValues(values: readonly number[], { typical, p95 }: SlaTarget): SlaFigure {
  const sorted = [...values].sort((a, b) => a - b);
  return {
    sampleSize: sorted.length,
    p50: percentileOf(sorted, 0.5),
    p95: percentileOf(sorted, 0.95),
    withinTypical: sorted.filter((value) => value <= typical).length,
    withinP95: sorted.filter((value) => value <= p95).length,
    against: { typical, p95 },
  };
}

/** Whether the figure was counted against this target. It may be stored from before a change of the targets, or by a version that did
 *  not say. */
export function isCountedAgainst({ against }: Partial<SlaFigure>, { typical, p95 }: SlaTarget): boolean {
  return against?.typical === typical && against.p95 === p95;
}

/** Null: nothing was measured. */
export function isSlaMet({
  sampleSize,
  withinTypical,
  withinP95,
}: Pick<SlaFigure, 'sampleSize' | 'withinTypical' | 'withinP95'>): boolean | null {
  return sampleSize === 0 ? null : withinTypical >= 0.5 * sampleSize && withinP95 >= 0.95 * sampleSize;
}

export function reviewDays({ from, to }: { from: Date; to: Date }): number {
  return businessDaysBetween(from, to);
}

/** The moment from which a review that was asked for at `since` is overdue. */
export function reviewDueAt(since: Date, { review }: SlaTargets): Date {
  return addBusinessDays(since, review.typical);
}

export function isReviewOverdue({ since, now }: { since: Date; now: Date }, targets: SlaTargets): boolean {
  return reviewDueAt(since, targets) < now;
}

/** The smallest value that is not exceeded by this share of all values. */
function percentileOf(sorted: readonly number[], share: number): number | null {
  return sorted[Math.ceil(sorted.length * share) - 1] ?? null;
}
