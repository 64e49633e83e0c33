import type { Sql } from '../../../ports/sql.js';
import { ONE_FEWER } from './batches.js';

/** A file that its owner has not confirmed. */
export interface UnconfirmedFile {
  id: string;
  owner: string;
  name: string;
  blobKey: string;
  sizeBytes: number;
  state: 'registered' | 'uploaded';
}

const COLUMNS = `f.id, f.owner, f.name, f.blob_key AS "blobKey", f.size_bytes::float8 AS "sizeBytes", i.state`;

/** Files that have waited for their upload for so long, in the order of their ids. */
export async function listAbandoned(
  sql: Sql,
  { behind, abandonedAfterMs, limit }: { behind: string | null; abandonedAfterMs: number; limit: number },
): Promise<UnconfirmedFile[]> {
  const { rows } = await sql.query<UnconfirmedFile>(
    `SELECT ${COLUMNS} FROM items i JOIN files f ON f.id = i.id
     WHERE i.pipeline = 'file' AND i.state = 'registered' AND i.ended_at IS NULL AND ($1::uuid IS NULL OR i.id > $1)
       AND f.created_at < now() - $2 * interval '1 millisecond' AND f.deleting_at IS NULL
     ORDER BY i.id LIMIT $3`,
    [behind, abandonedAfterMs, limit],
  );
  return rows;
}

/** Unconfirmed files of a batch, in the order of their ids. */
export async function listUnconfirmedOf(
  sql: Sql,
  { batchId, behind, limit }: { batchId: string; behind: string | null; limit: number },
): Promise<UnconfirmedFile[]> {
  const { rows } = await sql.query<UnconfirmedFile>(
    `SELECT ${COLUMNS} FROM files f JOIN items i ON i.id = f.id
     WHERE f.batch_id = $1 AND i.state IN ('registered', 'uploaded') AND f.deleting_at IS NULL AND ($2::uuid IS NULL OR f.id > $2)
     ORDER BY f.id LIMIT $3`,
    [batchId, behind, limit],
  );
  return rows;
}

/** Notes that the system confirmed the file, whatever has become of its batch. The caller has locked the item. The batch is locked before
 *  the file, as everywhere. False: the file is being deleted, or is confirmed; the caller rolls back. */
export async function confirmBySystem(transaction: Sql, fileId: string): Promise<boolean> {
  const { rowCount } = await transaction.query(
    `WITH counted AS (
       UPDATE upload_batches b SET ${ONE_FEWER} FROM files f
       WHERE f.id = $1 AND f.deleting_at IS NULL AND f.confirmed_at IS NULL AND b.id = f.batch_id AND b.unconfirmed > 0
       RETURNING f.id AS file_id
     )
     UPDATE files SET confirmed_at = now() FROM counted
     WHERE id = file_id AND deleting_at IS NULL AND confirmed_at IS NULL`,
    [fileId],
  );
  return rowCount === 1;
}
