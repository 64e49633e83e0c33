import type pg from 'pg';

/** An item whose run should be started or told. */
export interface DueItem {
  itemId: string;
  pipeline: string;
  owner: string;
  priority: number;
  state: string;
  visit: number;
  epoch: number;
  version: number;
  ended: boolean;
}

/** The wait before the next try, which doubles with each try. */
function backoffOf(tries: string, maxSeconds: number): string {
  return `least(${maxSeconds}, 2 * power(2, least(${tries}, 5))) * interval '1 second'`;
}

/** A start fails only while Temporal is away. Work goes on within seconds when Temporal is back. */
const MAX_START_SECONDS = 10;

/** A run that does not wake is waiting for a worker, and every wake is an event in its history. */
const MAX_WAKE_SECONDS = 60;

const DUE_COLUMNS = `id AS "itemId", pipeline, owner, priority, state, visit, epoch, version, ended_at IS NOT NULL AS ended`;

/** Takes rows of these pipelines whose start is due. An item whose pipeline this version lacks would be taken again and again, in the
 *  place of others. Any number of dispatchers may run, because the same statement pushes `start_after` on. The rows are
 *  chosen in a WITH, which runs once. A subquery may run again and again, past the limit. */
export async function takeDueStarts(pool: pg.Pool, pipelines: readonly string[], limit: number): Promise<DueItem[]> {
  const { rows } = await pool.query<DueItem>(
    `WITH due AS (
       SELECT id AS due_id FROM items WHERE start_after <= now() AND NOT started AND ended_at IS NULL AND pipeline = ANY ($2)
       ORDER BY priority DESC, start_after LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
     )
     UPDATE items SET start_after = now() + ${backoffOf('start_tries', MAX_START_SECONDS)}, start_tries = start_tries + 1
     FROM due WHERE id = due_id RETURNING ${DUE_COLUMNS}`,
    [limit, pipelines],
  );
  return rows;
}

/** A run that the engine has taken waits for a worker. The dispatcher asks for it again only in case the engine has lost it. */
const ACCEPTED_FOR = `interval '5 minutes'`;

/** Notes that the engine has the run, because a backlog of thousands must not be started anew every minute. */
export async function noteAccepted(pool: pg.Pool, item: Pick<DueItem, 'itemId' | 'epoch'>): Promise<void> {
  await pool.query(
    `UPDATE items SET accepted_at = now(), start_after = now() + ${ACCEPTED_FOR}
     WHERE id = $1 AND epoch = $2 AND NOT started AND ended_at IS NULL`,
    [item.itemId, item.epoch],
  );
}

/** Counts the wakes that are due, and no further than `atMost`. */
export async function countDueWakes(pool: pg.Pool, atMost: number): Promise<number> {
  const { rows } = await pool.query('SELECT 1 FROM items WHERE wake_after <= now() LIMIT $1', [atMost]);
  return rows.length;
}

/** Takes rows whose run has not seen the latest decision, pause or cancel yet. */
export async function takeDueWakes(pool: pg.Pool, limit: number): Promise<DueItem[]> {
  const { rows } = await pool.query<DueItem>(
    `WITH due AS (
       SELECT id AS due_id FROM items WHERE wake_after <= now() ORDER BY wake_after LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
     )
     UPDATE items SET wake_after = now() + ${backoffOf('wake_tries', MAX_WAKE_SECONDS)}, wake_tries = wake_tries + 1
     FROM due WHERE id = due_id RETURNING ${DUE_COLUMNS}`,
    [limit],
  );
  return rows;
}

/** Ends the wakes of a run that is gone or was told to end, unless the item has changed since. */
export async function clearWake(pool: pg.Pool, item: Pick<DueItem, 'itemId' | 'version'>): Promise<void> {
  await pool.query('UPDATE items SET wake_after = NULL, wake_tries = 0 WHERE id = $1 AND version = $2', [
    item.itemId,
    item.version,
  ]);
}
