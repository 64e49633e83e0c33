import type { Sql } from '../../../ports/sql.js';

/** One file fewer is waited for. The last file completes a batch that is active. */
const ONE_FEWER = `unconfirmed = unconfirmed - 1,
  status = CASE WHEN unconfirmed = 1 AND status = 'active' THEN 'completed' ELSE status END,
  ended_at = CASE WHEN unconfirmed = 1 AND status = 'active' THEN now() ELSE ended_at END`;

/** Counts a file out of its batch before its row is deleted, if it was not confirmed. The caller has locked the item. */
export async function countOut(transaction: Sql, fileId: string): Promise<void> {
  await transaction.query(
    `UPDATE upload_batches b SET ${ONE_FEWER} FROM files f
     WHERE f.id = $1 AND b.id = f.batch_id AND f.confirmed_at IS NULL AND b.unconfirmed > 0`,
    [fileId],
  );
}
