import type { Sql } from '../../../ports/sql.js';
import { type Attempt, taskKey } from '../attempt.js';

/** Running at two worker deaths makes a task a suspect: one may be chance, and its neighbours died with it. */
export const SUSPECT_CRASHES = 2;

/** A suspect asks this often for its turn. Twenty that died beside a poison item take turns: longer, and workers would mostly stand
 *  idle between the last of them; shorter, and asking would keep a core busy. */
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
