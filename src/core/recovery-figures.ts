/** The figures of recovery, read at each scrape. An unknown figure is not in the lists. */
export interface RecoveryFigures {
  /** Items that no worker has taken yet; a fan-out counts its units. */
  queued: { pipeline: string; stage: string; count: number }[];
  /** Receipts of the last hour. */
  recoveries: { pipeline: string; reason: string; result: string; count: number }[];
  /** The share of items that were given up among those that ended in this hour and the hour before, without the cancelled
   *  ones. A pipeline without ended items is left out. */
  failureRates: { pipeline: string; rate: number }[];
  parked: { pipeline: string; count: number }[];
  /** How many isolated stages run, how many suspects wait for a place, and how many isolated processes died in the last hour. */
  isolated: { pipeline: string; running: number; waiting: number; deaths: number }[];
  /** The last complete sweep of each pipeline. */
  sweeps: SweepFigures[];
  leftOut: { schedule: string; skipped: number; missed: number }[];
}

interface SweepFigures {
  pipeline: string;
  ageSeconds: number;
  durationSeconds: number;
  examined: number | null;
  /** Stuck items by reason; null: the sweep did not look at all items, or did not record the reasons. */
  stuck: Readonly<Record<string, number>> | null;
}

export interface QueueFigures {
  queue: string;
  pollers?: number | undefined;
  backlog?: number | null | undefined;
}
