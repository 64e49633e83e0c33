import type { Sql } from '../../../ports/sql.js';

/** Expires batches whose time is over, and answers the age of each in milliseconds. From then on no confirmation is taken. */
export async function expireBatches(sql: Sql, limit: number): Promise<number[]> {
  const { rows } = await sql.query<{ ageMs: number }>(
    `WITH due AS (
       SELECT id AS due_id FROM upload_batches WHERE status = 'active' AND expires_at <= now()
       ORDER BY expires_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
     )
     UPDATE upload_batches SET status = 'expired', ended_at = now() FROM due WHERE id = due_id AND status = 'active'
     RETURNING extract(epoch FROM now() - created_at)::float8 * 1000 AS "ageMs"`,
    [limit],
  );
  return rows.map(({ ageMs }) => ageMs);
}

export interface ExpiredBatch {
  id: string;
  /** When it expired, in the order of which batches are settled. */
  at: string;
}

/** Expired batches that have unconfirmed files, the oldest first. */
export async function listToSettle(
  sql: Sql,
  { behind, limit }: { behind: ExpiredBatch | null; limit: number },
): Promise<ExpiredBatch[]> {
  const { rows } = await sql.query<ExpiredBatch>(
    `SELECT id, expires_at::text AS at FROM upload_batches
     WHERE status = 'expired' AND unconfirmed > 0 AND ($1::timestamptz IS NULL OR (expires_at, id) > ($1, $2::uuid))
     ORDER BY expires_at, id LIMIT $3`,
    [behind?.at ?? null, behind?.id ?? null, limit],
  );
  return rows;
}
