import { addBusinessDays, businessDaysBetween } from './business-days.js';

/** The times that submissions are promised. `typical` is compared with the median, `p95` with the 95th percentile. */
export const SLA_TARGETS = {
  tier1: {
    typical: 500,
    p95: 1_000,
    unit: 'ms',
    measures: 'the last attempt at scanTier1, from claim to commit; fetching is not part of it',
  },
  tier2: { typical: 15_000, p95: 30_000, unit: 'ms', measures: 'the last attempt at judgeTier2, from claim to commit' },
  approveToPublish: { typical: 5_000, p95: 10_000, unit: 'ms', measures: 'from AUTO_APPROVED to PUBLISHED' },
  endToEnd: {
    typical: 30_000,
    p95: 60_000,
    unit: 'ms',
    measures: 'from RECEIVED to the end, of those that no person reviewed',
  },
  review: {
    typical: 5,
    p95: 10,
    unit: 'business_days',
    measures: 'from NEEDS_REVIEW to the end; Saturdays and Sundays in UTC do not count',
  },
} as const satisfies Record<string, SlaTarget>;

export type SlaName = keyof typeof SLA_TARGETS;

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
  /** How many values of the sample are below the typical target. */
  withinTypical: number;
}

export type SlaSamples = Readonly<Record<SlaName, readonly number[]>>;

export function slaFigures(samples: SlaSamples): Record<SlaName, SlaFigure> {
  const names = Object.keys(SLA_TARGETS) as SlaName[];
  const figures = names.map((name) => [name, figureOf(samples[name], SLA_TARGETS[name].typical)] as const);
  return Object.fromEntries(figures) as Record<SlaName, SlaFigure>;
}

export function reviewDays({ from, to }: { from: Date; to: Date }): number {
  return businessDaysBetween(from, to);
}

/** The moment from which a review that was asked for at `since` is overdue. */
export function reviewDueAt(since: Date): Date {
  return addBusinessDays(since, SLA_TARGETS.review.typical);
}

export function isReviewOverdue({ since, now }: { since: Date; now: Date }): boolean {
  return reviewDueAt(since) < now;
}

function figureOf(values: readonly number[], typical: number): SlaFigure {
  const sorted = [...values].sort((a, b) => a - b);
  return {
    sampleSize: sorted.length,
    p50: percentileOf(sorted, 0.5),
    p95: percentileOf(sorted, 0.95),
    withinTypical: sorted.filter((value) => value < typical).length,
  };
}

/** The smallest value that is not exceeded by this share of all values. */
function percentileOf(sorted: readonly number[], share: number): number | null {
  return sorted[Math.ceil(sorted.length * share) - 1] ?? null;
}
