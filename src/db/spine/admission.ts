import { rowOf } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { Sql } from '../../ports/sql.js';

/** Whether one more item may enter the state. The lock lasts until the transaction ends, because without it several items would
 *  count the same last place as free. The caller holds its item's lock already, and moves the item in the same transaction. */
export async function mayEnter(transaction: Sql, pipeline: Pipeline, state: string): Promise<boolean> {
  const row = rowOf(pipeline, state);
  if (!('admits' in row) || row.admits === undefined) return true;
  await transaction.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`admit:${pipeline.name}:${state}`]);
  const { rows } = await transaction.query<{ inside: number }>(
    'SELECT count(*)::int AS inside FROM items WHERE pipeline = $1 AND state = $2 AND ended_at IS NULL',
    [pipeline.name, state],
  );
  return (rows[0]?.inside ?? 0) < row.admits;
}
