import { addDurations, doneAttempts, type Durations, type Figure } from '../../../core/figures.js';
import { sumLatestFigures } from '../../../db/reads/figure-list.js';
import type { Sql } from '../../../ports/sql.js';
import { reviewDays, type SlaFigure, type SlaName, slaOfDurations, slaOfValues, type SlaTargets } from '../core/sla.js';

export type SubmissionSla = Record<SlaName, SlaFigure>;

/** Older submissions say little about the service of today. */
const DAYS = 30;

/** The latest submissions that have ended. A twentieth of so many is still a hundred. */
const SAMPLE = 2_000;

const PIPELINE = 'submission';

export async function computeSubmissionSla(sql: Sql, targets: SlaTargets): Promise<SubmissionSla> {
  const figures = await sumLatestFigures(sql, PIPELINE, { span: 'day', count: DAYS });
  const published = figures.filter(
    ({ kind, stage, outcome }) => kind === 'move' && stage === 'AUTO_APPROVED' && outcome === 'PUBLISHED',
  );
  const unaided = figures.filter(({ kind, class: how }) => kind === 'end' && how !== 'decided' && how !== 'cancelled');
  const measured = (name: SlaName, of: readonly Durations[]): SlaFigure =>
    slaOfDurations(addDurations(of), targets[name]);
  return {
    tier1: measured('tier1', attemptsAt(figures, 'scanTier1')),
    tier2: measured('tier2', attemptsAt(figures, 'judgeTier2')),
    approveToPublish: measured('approveToPublish', published),
    endToEnd: measured('endToEnd', unaided),
    review: slaOfValues(await readReviewDays(sql), targets.review),
  };
}

function attemptsAt(figures: readonly Figure[], stage: string): Figure[] {
  return doneAttempts(figures, PIPELINE, stage);
}

/** Business days are no span of time that figures could count, so a bounded number of finished submissions is read. */
async function readReviewDays(sql: Sql): Promise<number[]> {
  const { rows } = await sql.query<{ from: Date; to: Date }>(
    `SELECT a.from, i.ended_at AS to FROM (
       SELECT id, ended_at FROM items
       WHERE pipeline = $1 AND ended_at IS NOT NULL ORDER BY id DESC LIMIT ${SAMPLE}
     ) i
     CROSS JOIN LATERAL (
       SELECT min(at) AS from FROM audit
       WHERE item_id = i.id AND to_state = 'NEEDS_REVIEW' AND from_state IS DISTINCT FROM to_state
     ) a
     WHERE a.from IS NOT NULL AND i.ended_at > now() - ${DAYS} * interval '1 day'`,
    [PIPELINE],
  );
  return rows.map(reviewDays);
}
