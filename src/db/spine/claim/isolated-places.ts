import type { Sql } from '../../../ports/sql.js';
import { type Attempt, taskKey } from '../attempt.js';

/** A suspect without a place asks again after 40 ms for each suspect that waits, so that up to a hundred of them together ask 25 times a
 *  second. A free place then stands empty for a fraction of a second, and asking costs a small share of one core. */
const RETRY_MS_PER_WAITING = 40;
const SHORTEST_RETRY_MS = 500;
/** Below the longest hold that ends an attempt: a run that waits by itself is woken by nobody when a place is free. */
const LONGEST_RETRY_MS = 4_000;

/** Takes note that the suspect wants one of its worker's places for isolated stages. Null: a place is free. Otherwise the suspect asks
 *  again after so many milliseconds, of this worker or another, and its row says when. The lock keeps two suspects from being given one place. */
export async function askForPlace(transaction: Sql, attempt: Attempt): Promise<number | null> {
  // Most suspects that ask find no place. They do not wait for each other to learn it.
  if (await hasFreePlace(transaction, attempt)) {
    await transaction.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`isolated:${attempt.worker}`]);
    if (await hasFreePlace(transaction, attempt)) return null;
  }
  const asking = await transaction.query<{ waiting: number }>(`SELECT ${countAskingBefore('now()')} AS waiting`);
  const askedMs = (asking.rows[0]?.waiting ?? 0) * RETRY_MS_PER_WAITING;
  const retryMs = Math.min(LONGEST_RETRY_MS, Math.max(SHORTEST_RETRY_MS, askedMs));
  await transaction.query(
    `UPDATE tasks SET place_asked_at = COALESCE(place_asked_at, now()), retry_at = now() + $5 * interval '1 millisecond'
     WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4`,
    [...taskKey(attempt), retryMs],
  );
  return retryMs;
}

async function hasFreePlace(transaction: Sql, attempt: Attempt): Promise<boolean> {
  const { rows } = await transaction.query<{ taken: number }>(
    `SELECT count(*)::int AS taken FROM tasks WHERE worker = $5 AND status = 'running' AND isolated
       AND (item_id, visit, stage, unit) <> ($1::uuid, $2::int, $3::text, $4::text)`,
    [...taskKey(attempt), attempt.worker],
  );
  return (rows[0]?.taken ?? 0) < attempt.places;
}

/** A suspect that a pause or a breaker holds does not wait for a place. */
export async function stopAsking(transaction: Sql, attempt: Attempt): Promise<void> {
  await transaction.query(
    'UPDATE tasks SET place_asked_at = NULL WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4',
    taskKey(attempt),
  );
}

/** How many suspects asked in vain for a place before that time and still wait, as SQL. */
export function countAskingBefore(time: string): string {
  return `(SELECT count(*)::int FROM tasks asking JOIN items asker ON asker.id = asking.item_id AND asker.visit = asking.visit
      WHERE asking.place_asked_at < ${time} AND asking.status = 'waiting'
        AND asker.ended_at IS NULL AND asker.parked_at IS NULL)`;
}
