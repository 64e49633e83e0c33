import type { Pipeline } from '../../core/pipeline.js';
import type { Sql } from '../../ports/sql.js';

/** The pipeline's name as a literal of SQL. It is no parameter, because an index of one pipeline's items is used only where the
 *  statement names that pipeline. */
export function literalOf({ name }: Pipeline): string {
  if (!/^[a-z][a-z0-9-]*$/.test(name)) throw new Error(`${name} is no name of a pipeline`);
  return `'${name}'`;
}

/** How many more live items of the pipeline an owner may have, at most `max` in all; no more than `max` are counted. */
export async function countRoom(sql: Sql, pipeline: Pipeline, owner: string, max: number): Promise<number> {
  const { rows } = await sql.query<{ live: number }>(
    `SELECT count(*)::int AS live FROM (
       SELECT 1 FROM items WHERE pipeline = ${literalOf(pipeline)} AND owner = $1 AND ended_at IS NULL LIMIT $2) live`,
    [owner, max],
  );
  return max - (rows[0]?.live ?? 0);
}

/** Lets one transaction at a time count an owner's room. A transaction that creates many items takes this lock, because another
 *  one would not see the items that it adds. */
export async function lockRoom(transaction: Sql, owner: string): Promise<void> {
  await transaction.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`room:${owner}`]);
}
