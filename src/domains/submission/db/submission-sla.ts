import { reviewDays, type SlaFigure, slaFigures, type SlaName } from '../core/sla.js';
import type { Sql } from '../../../ports/sql.js';

export type SubmissionSla = Record<SlaName, SlaFigure>;

/** The latest submissions that have ended. A twentieth of so many is still a hundred. */
const SAMPLE = 2_000;

/** Older submissions say little about the service of today. */
const SAMPLE_AGE = `interval '30 days'`;

interface Sampled {
  tier1: number | null;
  tier2: number | null;
  approveToPublish: number | null;
  endToEnd: number | null;
  reviewFrom: Date | null;
  endedAt: Date;
}

/** Reads a bounded number of finished submissions, each by its keys. */
export async function computeSubmissionSla(sql: Sql): Promise<SubmissionSla> {
  const { rows } = await sql.query<Sampled>(
    `SELECT i.ended_at AS "endedAt", t.tier1, t.tier2, a."reviewFrom",
       extract(epoch FROM a."publishedAt" - a."approvedAt")::float8 * 1000 AS "approveToPublish",
       CASE WHEN a."reviewFrom" IS NULL THEN extract(epoch FROM i.ended_at - i.created_at)::float8 * 1000 END AS "endToEnd"
     FROM (
       SELECT id, visit, created_at, ended_at FROM items
       WHERE pipeline = 'submission' AND ended_at IS NOT NULL ORDER BY id DESC LIMIT ${SAMPLE}
     ) i
     CROSS JOIN LATERAL (
       SELECT max(extract(epoch FROM ended_at - started_at)::float8 * 1000) FILTER (WHERE stage = 'scanTier1') AS tier1,
         max(extract(epoch FROM ended_at - started_at)::float8 * 1000) FILTER (WHERE stage = 'judgeTier2') AS tier2
       FROM tasks WHERE item_id = i.id AND visit = i.visit AND status = 'done'
     ) t
     CROSS JOIN LATERAL (
       SELECT min(at) FILTER (WHERE to_state = 'NEEDS_REVIEW') AS "reviewFrom",
         min(at) FILTER (WHERE to_state = 'AUTO_APPROVED') AS "approvedAt",
         max(at) FILTER (WHERE to_state = 'PUBLISHED') AS "publishedAt"
       FROM audit WHERE item_id = i.id AND from_state IS DISTINCT FROM to_state
     ) a
     WHERE i.ended_at > now() - ${SAMPLE_AGE}`,
  );
  const known = (pick: (row: Sampled) => number | null): number[] => rows.map(pick).filter((value) => value !== null);
  return slaFigures({
    tier1: known(({ tier1 }) => tier1),
    tier2: known(({ tier2 }) => tier2),
    approveToPublish: known(({ approveToPublish }) => approveToPublish),
    endToEnd: known(({ endToEnd }) => endToEnd),
    review: known(({ reviewFrom, endedAt }) => reviewFrom && reviewDays({ from: reviewFrom, to: endedAt })),
  });
}
