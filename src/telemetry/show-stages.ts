import { addDurations, type Figure } from '../core/figures.js';
import type { MetricSample } from '../core/metric.js';
import type { Metrics } from './metrics.js';

/** The totals of all pipelines since the beginning, and how long the oldest row has waited to be counted, at most. */
export interface Counted {
  totals: readonly Figure[];
  ageSeconds: number | null;
}

/** Shows the attempts at stages. Null: they could not be read, so the series are left out. */
export function showStages(metrics: Metrics, counted: Counted | null): void {
  const attempts = (counted?.totals ?? []).filter(({ kind }) => kind === 'attempt');
  metrics.stageDuration.show(
    groupBy(attempts, ({ pipeline, stage, outcome }) => ({ pipeline, stage, outcome })).map(({ labels, figures }) => ({
      labels,
      measured: addDurations(figures),
    })),
  );
  const failed = attempts.filter((each) => each.class !== '');
  metrics.stageErrors.show(
    groupBy(failed, (each) => ({ pipeline: each.pipeline, stage: each.stage, class: each.class })).map(countOf),
  );
  metrics.figuresAge.remove();
  if (counted === null) metrics.scrapeFailed.set(1);
  else if (counted.ageSeconds !== null) metrics.figuresAge.set(counted.ageSeconds);
}

interface Group {
  labels: Readonly<Record<string, string>>;
  figures: Figure[];
}

function groupBy(figures: readonly Figure[], labelsOf: (figure: Figure) => Record<string, string>): Group[] {
  const groups = new Map<string, Group>();
  for (const figure of figures) {
    const labels = labelsOf(figure);
    const key = Object.values(labels).join('\n');
    const group = groups.get(key) ?? { labels, figures: [] };
    group.figures.push(figure);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function countOf({ labels, figures }: Group): MetricSample<number> {
  return { labels, measured: figures.reduce((sum, { count }) => sum + count, 0) };
}
