import type { Sql } from '../../../ports/sql.js';
import { type Attempt, taskKey } from '../attempt.js';

/** A task that ran at two worker deaths is a suspect. One death may be chance, and the tasks beside it died too. */
export const SUSPECT_CRASHES = 2;

/** A suspect asks this often for its turn. Twenty tasks that died beside a poison item take turns: with a longer wait, workers would
 *  mostly stand idle between the last of them; with a shorter one, asking would keep a core busy. */
export const SUSPECT_RETRY_MS = 2_000;

/** Whether this worker runs no other suspect. The lock keeps two suspects from being let in at once. */
export async function mayRunSuspect(transaction: Sql, attempt: Attempt): Promise<boolean> {
  await transaction.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`suspects:${attempt.worker}`]);
  const { rows } = await transaction.query(
    `SELECT 1 FROM tasks WHERE worker = $5 AND status = 'running' AND suspect
       AND (item_id, visit, stage, unit) <> ($1::uuid, $2::int, $3::text, $4::text) LIMIT 1`,
    [...taskKey(attempt), attempt.worker],
  );
  return rows.length === 0;
}
