import type { Sql } from '../ports/sql.js';

export interface WaitingReview {
  id: string;
  owner: string;
  state: string;
  skillName: string;
  /** When it first asked for a person. */
  since: Date;
}

/** Submissions that wait for a person and were made at least so long ago, the oldest first. Live rows are all that is read. */
export async function listWaitingReviews(sql: Sql, ageMs: number, limit: number): Promise<WaitingReview[]> {
  const { rows } = await sql.query<WaitingReview>(
    `SELECT i.id, i.owner, i.state, s.skill_name AS "skillName", COALESCE(a.at, i.entered_at) AS since
     FROM (
       SELECT * FROM items
       WHERE pipeline = 'submission' AND ended_at IS NULL AND state = ANY (ARRAY['NEEDS_REVIEW', 'TIER3_REVIEW'])
         AND created_at < now() - $1 * interval '1 millisecond'
       ORDER BY id LIMIT $2
     ) i JOIN submissions s ON s.id = i.id
     LEFT JOIN LATERAL (
       SELECT at FROM audit WHERE item_id = i.id AND visit = i.visit AND to_state = 'NEEDS_REVIEW' ORDER BY id LIMIT 1
     ) a ON true
     ORDER BY since, i.id`,
    [ageMs, limit],
  );
  return rows;
}
