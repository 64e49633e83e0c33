import type { Sql } from '../../../ports/sql.js';
import { queryPrepared } from '../../../db/postgres/client.js';

/** The states in which a submission waits for a person. */
const IN_REVIEW = `state = ANY (ARRAY['NEEDS_REVIEW', 'TIER3_REVIEW']) AND ended_at IS NULL`;

/** When the submission first needed a person. An escalation does not start the time again. */
const SINCE = `COALESCE((SELECT at FROM audit WHERE item_id = i.id AND visit = i.visit AND to_state = 'NEEDS_REVIEW'
  ORDER BY id LIMIT 1), i.entered_at)`;

export interface WaitingReview {
  id: string;
  owner: string;
  state: string;
  skillName: string;
  /** When the submission first needed a person. */
  since: Date;
}

/** Submissions that wait for a person and were created at least `ageMs` ago, the oldest first. Only live rows are
 *  read. */
export async function listWaitingReviews(sql: Sql, ageMs: number, limit: number): Promise<WaitingReview[]> {
  const { rows } = await sql.query<WaitingReview>(
    `SELECT i.id, i.owner, i.state, s.skill_name AS "skillName", ${SINCE} AS since
     FROM (
       SELECT * FROM items WHERE pipeline = 'submission' AND ${IN_REVIEW} AND created_at < now() - $1 * interval '1 millisecond'
       ORDER BY id LIMIT $2
     ) i JOIN submissions s ON s.id = i.id
     ORDER BY since, i.id`,
    [ageMs, limit],
  );
  return rows;
}

/** When a review began, and the present time of the same clock. Their difference is the age, whatever this machine's
 *  clock says. */
export interface ReviewStart {
  since: Date;
  now: Date;
}

/** The start of the review of each of these submissions that waits for a person. */
export async function findReviewStarts(sql: Sql, ids: readonly string[]): Promise<ReadonlyMap<string, ReviewStart>> {
  const rows = await queryPrepared<ReviewStart & { id: string }>(
    sql,
    `SELECT i.id, ${SINCE} AS since, now() AS now FROM items i WHERE i.id = ANY ($1::uuid[]) AND ${IN_REVIEW}`,
    [ids],
  );
  return new Map(rows.map(({ id, since, now }) => [id, { since, now }]));
}
