import type pg from 'pg';
import { inTransaction } from '../postgres/client.js';
import { OVER } from './hold.js';
import { recordOperatorAction } from './operator-actions.js';
import type { Actor } from './transition.js';

interface Asked {
  pipeline: string;
  actor: Actor;
  reason?: string | undefined;
}

/** Claims of the pipeline answer `hold` until the pause ends; attempts that run go on. A second pause replaces the first. */
export async function pausePipeline(
  pool: pg.Pool,
  { pipeline, actor, reason, forMs }: Asked & { reason: string; forMs: number },
): Promise<Date> {
  return inTransaction(pool, async (transaction) => {
    const { rows } = await transaction.query<{ until: Date }>(
      `INSERT INTO holds (pipeline, kind, until, reason, set_by, wake_from)
       VALUES ($1, 'pause', now() + $2 * interval '1 millisecond', $3, $4, $5)
       ON CONFLICT (pipeline, kind, key) DO UPDATE SET
         until = excluded.until, reason = excluded.reason, set_by = excluded.set_by, set_at = now(),
         wake_from = excluded.wake_from
       RETURNING until`,
      [pipeline, forMs, reason, actor.id, FIRST_ID],
    );
    const until = rows[0]?.until;
    if (!until) throw new Error(`the pause of ${pipeline} was not stored`);
    const metadata = { until: until.toISOString() };
    await recordOperatorAction(transaction, {
      action: 'pause',
      target: `pipeline:${pipeline}`,
      actor,
      reason,
      metadata,
    });
    return until;
  });
}

/** Ends the pause at once. The dispatcher wakes the runs that wait for its end. False: the pipeline was not paused. */
export async function resumePipeline(pool: pg.Pool, { pipeline, actor, reason }: Asked): Promise<boolean> {
  return inTransaction(pool, async (transaction) => {
    const { rowCount } = await transaction.query(
      `UPDATE holds SET until = ${OVER}, wake_from = $2 WHERE pipeline = $1 AND kind = 'pause' AND until > now()`,
      [pipeline, FIRST_ID],
    );
    if (rowCount === 0) return false;
    await recordOperatorAction(transaction, { action: 'resume', target: `pipeline:${pipeline}`, actor, reason });
    return true;
  });
}

/** Sorts before the id of every item. */
export const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** Wakes one page of the live items of a pipeline whose hold is over, marked or not, because a worker of a version before
 *  `items.held_by` answers a hold without marking the item. Items whose row is locked are on their way. The page that finds no item
 *  removes the hold's row. Returns how many items the page had. Remove this walk in 0.4.0: all workers mark by then. */
export async function walkReleased(pool: pg.Pool, limit: number): Promise<number> {
  const { rows } = await pool.query<{ seen: number }>(
    `WITH released AS MATERIALIZED (
       SELECT pipeline, kind, key, wake_from FROM holds
       WHERE wake_from IS NOT NULL AND until <= now() LIMIT 1 FOR UPDATE SKIP LOCKED
     ), page AS MATERIALIZED (
       SELECT live.id FROM released, LATERAL (
         SELECT i.id FROM items i WHERE i.pipeline = released.pipeline AND i.ended_at IS NULL AND i.id > released.wake_from
         ORDER BY i.id LIMIT $1
       ) live
     ), waiting AS (
       SELECT i.id AS waiting_id FROM items i JOIN page USING (id)
       WHERE i.started AND i.run_ended_at IS NULL AND i.wake_after IS NULL
       FOR NO KEY UPDATE OF i SKIP LOCKED
     ), woken AS (
       UPDATE items SET wake_after = now(), wake_tries = 0 FROM waiting WHERE id = waiting_id
     ), further AS (
       UPDATE holds h SET wake_from = (SELECT max(id::text)::uuid FROM page) FROM released r
       WHERE (h.pipeline, h.kind, h.key) = (r.pipeline, r.kind, r.key) AND EXISTS (SELECT 1 FROM page)
     ), over AS (
       DELETE FROM holds h USING released r
       WHERE (h.pipeline, h.kind, h.key) = (r.pipeline, r.kind, r.key) AND NOT EXISTS (SELECT 1 FROM page)
     )
     SELECT count(*)::int AS seen FROM page`,
    [limit],
  );
  return rows[0]?.seen ?? 0;
}

export interface Pause {
  pipeline: string;
  until: Date;
  reason: string;
  setBy: string;
  setAt: Date;
}

export async function listPauses(pool: pg.Pool): Promise<Pause[]> {
  const { rows } = await pool.query<Pause>(
    `SELECT pipeline, until, reason, set_by AS "setBy", set_at AS "setAt" FROM holds WHERE kind = 'pause' AND until > now()`,
  );
  return rows;
}
