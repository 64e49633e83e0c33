/** What is read of recovery at each scrape. What is not known is not in the lists. */
export interface RecoveryFigures {
  /** Work that no worker has taken yet; a fan-out counts its units. */
  queued: { pipeline: string; stage: string; count: number }[];
  /** Receipts of the last hour. */
  recoveries: { pipeline: string; reason: string; result: string; count: number }[];
  /** Attempts that ended in the last minutes. */
  attempts: {
    pipeline: string;
    stage: string;
    result: string;
    count: number;
    medianSeconds: number;
    p95Seconds: number;
  }[];
  /** Of what ended in this hour and the one before; a pipeline of which nothing did is not there. */
  failureRates: { pipeline: string; rate: number }[];
  parked: { pipeline: string; count: number }[];
  /** The last sweep of each pipeline that got to its end. */
  sweeps: SweepFigures[];
  leftOut: { schedule: string; skipped: number; missed: number }[];
}

interface SweepFigures {
  pipeline: string;
  ageSeconds: number;
  durationSeconds: number;
  examined: number | null;
  /** Stuck items by reason; null: it did not get to look at all of them, or did not say. */
  stuck: Readonly<Record<string, number>> | null;
}

export interface QueueFigures {
  queue: string;
  pollers?: number | undefined;
  backlog?: number | null | undefined;
}
