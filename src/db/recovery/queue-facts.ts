import type pg from 'pg';
import type { Facts } from '../../core/diagnosis.js';
import { countLivingPollers } from '../../core/living-pollers.js';
import type { QueueStatus } from '../../ports/engine.js';
import { isPresent } from './gone-worker.js';

/** The facts of a diagnosis about the task queue that an item waits in. */
export async function queueFactsOf(
  pool: pg.Pool,
  { pollers, backlog }: QueueStatus,
): Promise<Pick<Facts, 'pollers' | 'backlog'>> {
  const registered = await findPresence(
    pool,
    pollers.map((each) => each.identity),
  );
  return { pollers: countLivingPollers(pollers, registered, new Date()), backlog };
}

/** Whether these worker processes are present. A process that never registered is not in the map. */
export async function findPresence(
  pool: pg.Pool,
  ids: readonly string[],
): Promise<Map<string, { isPresent: boolean }>> {
  const { rows } = await pool.query<{ id: string; isPresent: boolean }>(
    `SELECT id, ${isPresent('workers')} AS "isPresent" FROM workers WHERE id = ANY ($1::text[])`,
    [ids],
  );
  return new Map(rows.map((row) => [row.id, row]));
}
