/** What the stats refresh computes, in this order. */
export const AGGREGATES = ['submission-stats', 'submission-sla'] as const;
export type AggregateName = (typeof AGGREGATES)[number];

export interface StatsActivities {
  /** Computes it anew and puts it in the place of the last. */
  refreshAggregate(name: AggregateName): Promise<void>;
}
