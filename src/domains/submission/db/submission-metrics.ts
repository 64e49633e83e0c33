import { doneAttempts } from '../../../core/figures.js';
import type { MetricSample } from '../../../core/metric.js';
import type { MetricPart } from '../../../ports/metric.js';
import type { Sql } from '../../../ports/sql.js';
import type { SlaFigure } from '../core/sla.js';
import type { SubmissionRates } from '../core/submission-rates.js';
import { findAggregate } from './aggregates.js';
import type { SubmissionSla } from './submission-sla.js';
import type { SubmissionStats } from './submission-stats.js';

const PIPELINE = 'submission';

/** The schedule stats-refresh computes the figures every few minutes. Older ones say nothing about now. */
const FRESH_MS = 3_600_000;

/** Under the names that the specification gives them. */
export const submissionMetrics: readonly MetricPart[] = [
  {
    name: 'submissions_received_total',
    help: 'Submissions received since the beginning',
    type: 'counter',
    labels: [],
    read({ totals }) {
      const created = totals.filter(
        (each) => each.pipeline === PIPELINE && each.kind === 'move' && each.class === 'created',
      );
      return [{ labels: {}, measured: created.reduce((sum, { count }) => sum + count, 0) }];
    },
  },
  stageDurations('tier1_scan_duration_ms', 'scanTier1', 'Duration of Tier 1 scans since the beginning, by outcome'),
  stageDurations(
    'tier2_scan_duration_ms',
    'judgeTier2',
    'Duration of Tier 2 judgements since the beginning, by outcome',
  ),
  rate('auto_approve_rate', 'autoApproveRate', 'Share of the decided submissions that were approved by scan and judge'),
  rate('needs_review_rate', 'needsReviewRate', 'Share of the decided submissions that a person must review'),
  rate('rejection_rate', 'rejectionRate', 'Share of the ended submissions that were rejected'),
  {
    name: 'submission_sla_compliance',
    help: 'Share of the last 30 days that stayed within its target; level is typical (half must) or p95 (95 % must)',
    type: 'gauge',
    labels: ['target', 'level'],
    async read({ sql }) {
      const sla = await findFresh<SubmissionSla>(sql, 'submission-sla');
      return Object.entries(sla ?? {}).flatMap(([target, figure]) => complianceOf(target, figure));
    },
  },
];

function stageDurations(name: string, stage: string, help: string): MetricPart {
  return {
    ...{ name, help, type: 'histogram', labels: ['outcome'] },
    read: ({ totals }) =>
      doneAttempts(totals, PIPELINE, stage).map((each) => ({ labels: { outcome: each.outcome }, measured: each })),
  };
}

function rate(name: string, of: keyof SubmissionRates, help: string): MetricPart {
  return {
    ...{ name, help: `${help}, in this day and the six before it`, type: 'gauge', labels: [] },
    async read({ sql }) {
      const stats = await findFresh<SubmissionStats>(sql, 'submission-stats');
      const share = stats?.rates[of] ?? null;
      return share === null ? [] : [{ labels: {}, measured: share }];
    },
  };
}

async function findFresh<Figures>(sql: Sql, name: 'submission-stats' | 'submission-sla'): Promise<Figures | null> {
  const aggregate = await findAggregate<Figures>(sql, name);
  return aggregate && aggregate.ageMs < FRESH_MS ? aggregate.figures : null;
}

/** A version before `withinP95` may have computed the figures. */
function complianceOf(
  target: string,
  { sampleSize, withinTypical, withinP95 }: Partial<SlaFigure>,
): MetricSample<number>[] {
  if (!sampleSize) return [];
  const levels = { typical: withinTypical, p95: withinP95 };
  return Object.entries(levels).flatMap(([level, within]) =>
    within === undefined ? [] : [{ labels: { target, level }, measured: within / sampleSize }],
  );
}
