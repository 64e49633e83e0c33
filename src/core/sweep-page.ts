import type { OfInstallation } from './installation.js';

export interface SweepPageInput extends OfInstallation {
  pipeline: string;
  /** When the sweep began, by the database's clock. Items that were examined since then are left for the next sweep. */
  startedAt: string;
  /** Only workers of version 0.1 read it: how many items the sweep may still rescue. */
  rescuesLeft: number;
}

/** The counts of one page of a sweep. */
export interface SweepPage {
  /** Items looked at, stuck or not. */
  examined: number;
  /** No item is left to look at. */
  isLast: boolean;
  totalStuck: number;
  reEnqueued: number;
  /** Started runs that Temporal had never heard of. They count as no rescue. Pages of earlier versions, which histories
   *  hold, lack this count. */
  started?: number;
  permanentlyFailed: number;
  parked: number;
  /** Runs that were asked to end because their item had ended. */
  endedRuns: number;
  /** Items that were reported to operators and otherwise left alone. */
  reported: number;
  /** The sum of the times for which the stuck items had given no sign of life. */
  stuckMsTotal: number;
  /** Stuck items by state. */
  byStatus: Record<string, number>;
  /** Stuck items by reason. Pages of earlier versions, which histories hold, lack this count. */
  byReason?: Record<string, number>;
  errors: string[];
}

/** A page on which nothing has been examined yet. */
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
