import type { Figure } from '../core/figures.js';
import type { Measured, MetricSample, MetricShape } from '../core/metric.js';
import type { Sql } from './sql.js';

/** The sources that a metric of a domain is read from at a scrape. */
interface MetricSources {
  sql: Sql;
  /** All that was ever counted of every pipeline. */
  totals: readonly Figure[];
}

/** A metric of a domain. A figure that is not known is left out of the samples: unknown is not zero. Every scrape of every API
 *  process reads it, so it must be cheap. A histogram's durations are shown in milliseconds. */
export interface MetricPart extends MetricShape {
  read(sources: MetricSources): Promise<readonly MetricSample<Measured>[]> | readonly MetricSample<Measured>[];
}
