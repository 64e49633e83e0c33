export interface SweepPageInput {
  pipeline: string;
  /** When the sweep began, by the database's clock: what was examined since is left for the next one. */
  startedAt: string;
  /** How many items this sweep may still rescue. */
  rescuesLeft: number;
}

/** What one page of a sweep saw and did. */
export interface SweepPage {
  /** Items looked at, stuck or not. */
  examined: number;
  /** Nothing is left to look at. */
  isLast: boolean;
  totalStuck: number;
  reEnqueued: number;
  /** Runs that Temporal had never heard of, begun as they should have been: nothing was rescued. Pages of earlier versions,
   *  which histories hold, do not say. */
  started?: number;
  permanentlyFailed: number;
  parked: number;
  /** Runs of items that had ended, asked to end as well. */
  endedRuns: number;
  /** Said to operators, and otherwise left alone. */
  reported: number;
  /** How long the stuck ones had given no sign of life, added up. */
  stuckMsTotal: number;
  /** Stuck items by state. */
  byStatus: Record<string, number>;
  /** Stuck items by reason; pages of earlier versions, which histories hold, do not say. */
  byReason?: Record<string, number>;
  errors: string[];
}

/** Nothing seen, nothing done yet. */
export function emptyPage(): SweepPage {
  return {
    examined: 0,
    isLast: false,
    totalStuck: 0,
    reEnqueued: 0,
    started: 0,
    permanentlyFailed: 0,
    parked: 0,
    endedRuns: 0,
    reported: 0,
    stuckMsTotal: 0,
    byStatus: {},
    byReason: {},
    errors: [],
  };
}

export interface SweepActivities {
  sweepPage(input: SweepPageInput): Promise<SweepPage>;
}
