import type { Metric, Registry } from 'prom-client';
import { BUCKET_BOUNDS_MS } from '../core/figures.js';
import type { Measured, MetricSample, MetricShape } from '../core/metric.js';

/** A metric whose samples are replaced as a whole at each scrape. */
export interface ShownMetric {
  show(samples: readonly MetricSample<Measured>[]): void;
}

interface Series {
  metricName?: string;
  labels: Record<string, string | number>;
  value: number;
}

/** prom-client's own histogram takes single observations only. This metric shows durations that were counted elsewhere.
 *  `unitMs`: the unit of a histogram, 1 for milliseconds. */
export function registerShown(registry: Registry, shape: MetricShape, unitMs = 1): ShownMetric {
  const { name, help, type, labels } = shape;
  let values: Series[] = [];
  const metric = {
    ...{ name, help, type, labelNames: [...labels], aggregator: 'first' },
    get: () => Promise.resolve({ name, help, type, values, aggregator: 'first' }),
    reset: () => {
      values = [];
    },
  };
  // The registry asks for nothing but the name and `get`.
  registry.registerMetric(metric as unknown as Metric<string>);
  return {
    show(samples) {
      values = samples.flatMap((sample) => seriesOf(name, sample, unitMs));
    },
  };
}

function seriesOf(name: string, { labels, measured }: MetricSample<Measured>, unitMs: number): Series[] {
  if (typeof measured === 'number') return [{ labels, value: measured }];
  const { count, sumMs, buckets } = measured;
  let below = 0;
  const bounded = BUCKET_BOUNDS_MS.map((bound, n) => {
    below += buckets[n] ?? 0;
    return { metricName: `${name}_bucket`, labels: { ...labels, le: bound / unitMs }, value: below };
  });
  return [
    ...bounded,
    { metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: count },
    { metricName: `${name}_sum`, labels, value: sumMs / unitMs },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
