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
      `INSERT INTO holds (pipeline, kind, until, reason, set_by)
       VALUES ($1, 'pause', now() + $2 * interval '1 millisecond', $3, $4)
       ON CONFLICT (pipeline, kind, key) DO UPDATE SET
         until = excluded.until, reason = excluded.reason, set_by = excluded.set_by, set_at = now(), wake_from = NULL
       RETURNING until`,
      [pipeline, forMs, reason, actor.id],
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

/** Ends the pause at once. The runs that wait for its end don't know yet: the row stays until `wakeReleased` has told all of them,
 *  however many there are and whichever process dies meanwhile. False: the pipeline was not paused. */
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

/** Marks one page of a released pipeline's items to be woken. Items with a running task need no wake. Items whose row is locked are
 *  on their way. The page that finds no item removes the hold's row. Returns how many items the page had. */
export async function wakeReleased(pool: pg.Pool, limit: number): Promise<number> {
  const { rows } = await pool.query<{ seen: number }>(
    `WITH released AS (
       SELECT pipeline, kind, key, wake_from FROM holds
       WHERE wake_from IS NOT NULL AND until <= now() LIMIT 1 FOR UPDATE SKIP LOCKED
     ), page AS (
       SELECT i.id FROM items i, released
       WHERE i.pipeline = released.pipeline AND i.ended_at IS NULL AND i.id > released.wake_from
       ORDER BY i.id LIMIT $1
     ), idle AS (
       SELECT i.id AS idle_id FROM items i JOIN page USING (id)
       WHERE i.started AND i.run_ended_at IS NULL AND i.wake_after IS NULL
         AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.item_id = i.id AND t.visit = i.visit AND t.status = 'running')
       FOR NO KEY UPDATE OF i SKIP LOCKED
     ), woken AS (
       UPDATE items SET wake_after = now(), wake_tries = 0 FROM idle WHERE id = idle_id
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
