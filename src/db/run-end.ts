import type pg from 'pg';
import type { RunRef } from '../core/run.js';

/** The last act of a run that ends before its item does: the sweep need not wait for silence. */
export async function markRunEnded(pool: pg.Pool, run: RunRef): Promise<void> {
  await pool.query(
    `UPDATE items SET run_ended_at = now(), updated_at = now()
     WHERE id = $1 AND epoch = $2 AND ended_at IS NULL AND run_ended_at IS NULL`,
    [run.itemId, run.epoch],
  );
}
