import type { Sql } from '../ports/sql.js';

/** How many more submissions an owner may have on their way, at most `max` in all; no more than that are counted. The pipeline is
 *  written out, for the index holds its items alone: those of other pipelines are not to pay for it with every move. */
export async function countRoom(sql: Sql, owner: string, max: number): Promise<number> {
  const { rows } = await sql.query<{ live: number }>(
    `SELECT count(*)::int AS live FROM (
       SELECT 1 FROM items WHERE pipeline = 'submission' AND owner = $1 AND ended_at IS NULL LIMIT $2) live`,
    [owner, max],
  );
  return max - (rows[0]?.live ?? 0);
}

/** Whoever brings many in one transaction is alone with their count until it ends: another would not see what it adds. */
export async function lockRoom(transaction: Sql, owner: string): Promise<void> {
  await transaction.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`room:${owner}`]);
}
