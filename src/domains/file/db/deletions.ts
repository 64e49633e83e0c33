import type pg from 'pg';
import { inTransaction } from '../../../db/postgres/client.js';
import { lockItem } from '../../../db/spine/item-row.js';
import type { Sql } from '../../../ports/sql.js';

/** A file that is to be deleted. */
export interface DeletedFile {
  id: string;
  blobKey: string;
}

/** Marks a file as to be deleted, if it is still in the state and the condition on its row `f` and its item `i` holds. A confirmation
 *  and a retry lock the item too, so they come before the mark and prevent it, or find it. */
export async function markDeleting(
  pool: pg.Pool,
  id: string,
  { state, condition = 'true', values = [] }: { state: string; condition?: string; values?: readonly unknown[] },
): Promise<boolean> {
  return inTransaction(pool, async (transaction) => {
    if (!(await lockItem(transaction, id))) return false;
    // A deleted file is no longer told of, so the address is not needed.
    const { rowCount } = await transaction.query(
      `UPDATE files f SET deleting_at = now(), email = NULL FROM items i
       WHERE f.id = $1 AND i.id = f.id AND i.state = $2 AND f.deleting_at IS NULL AND (${condition})`,
      [id, state, ...values],
    );
    return rowCount === 1;
  });
}

/** The place of a file in the order of deletions. */
export interface DeletionPlace {
  at: string;
  id: string;
}

/** Files that are to be deleted and are still there, the oldest mark first. */
export async function listDeleting(
  sql: Sql,
  { behind, limit }: { behind: DeletionPlace | null; limit: number },
): Promise<(DeletedFile & DeletionPlace)[]> {
  const { rows } = await sql.query<DeletedFile & DeletionPlace>(
    `SELECT id, blob_key AS "blobKey", deleting_at::text AS at FROM files
     WHERE deleting_at IS NOT NULL AND ($1::timestamptz IS NULL OR (deleting_at, id) > ($1, $2::uuid))
     ORDER BY deleting_at, id LIMIT $3`,
    [behind?.at ?? null, behind?.id ?? null, limit],
  );
  return rows;
}
