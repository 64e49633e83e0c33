import type { Durations } from './figures.js';

/** A metric that is read at each scrape, as Prometheus is told of it. Labels must be bounded, and never ids. */
export interface MetricShape {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram';
  labels: readonly string[];
}

export interface MetricSample<Measured> {
  labels: Readonly<Record<string, string>>;
  measured: Measured;
}

/** A number for counters and gauges, durations for histograms. */
export type Measured = number | Durations;
