/** The figures that the stats refresh computes, in this order. */
export const AGGREGATES = ['submission-stats', 'submission-sla'] as const;
export type AggregateName = (typeof AGGREGATES)[number];
