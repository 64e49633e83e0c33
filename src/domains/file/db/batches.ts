import type { JsonObject } from '../../../ports/stage.js';
import type { Sql } from '../../../ports/sql.js';
import { storableJson } from '../../../db/postgres/parameters.js';

export const BATCH_STATUSES = ['active', 'completed', 'expired', 'cancelled'] as const;
export type BatchStatus = (typeof BATCH_STATUSES)[number];

export interface Batch {
  id: string;
  owner: string;
  /** A batch whose time is over counts as expired, although the job that says so in its row may not have run yet. */
  status: BatchStatus;
  metadata: JsonObject;
  /** How many files were registered. */
  files: number;
  unconfirmed: number;
  createdAt: Date;
  expiresAt: Date;
  endedAt: Date | null;
}

const BATCH = `id, owner, CASE WHEN status = 'active' AND expires_at <= now() THEN 'expired' ELSE status END AS status,
  metadata, files, unconfirmed, created_at AS "createdAt", expires_at AS "expiresAt", ended_at AS "endedAt"`;

export interface NewBatch {
  id: string;
  owner: string;
  metadata: JsonObject;
  files: number;
  lastsMs: number;
}

export async function insertBatch(transaction: Sql, batch: NewBatch): Promise<Pick<Batch, 'expiresAt'>> {
  const { rows } = await transaction.query<Pick<Batch, 'expiresAt'>>(
    `INSERT INTO upload_batches (id, owner, metadata, files, unconfirmed, expires_at)
     VALUES ($1, $2, $3::jsonb, $4, $4, now() + $5 * interval '1 millisecond') RETURNING expires_at AS "expiresAt"`,
    [batch.id, batch.owner, storableJson(batch.metadata), batch.files, batch.lastsMs],
  );
  const [made] = rows;
  if (!made) throw new Error('a batch that was inserted has no row');
  return made;
}

export async function findBatch(sql: Sql, id: string): Promise<Batch | null> {
  const { rows } = await sql.query<Batch>(`SELECT ${BATCH} FROM upload_batches WHERE id = $1`, [id]);
  return rows[0] ?? null;
}

/** The owner's batches behind the position, the newest first. */
export async function listBatches(
  sql: Sql,
  { owner, behind, limit }: { owner: string; behind: string | null; limit: number },
): Promise<Batch[]> {
  const { rows } = await sql.query<Batch>(
    `SELECT ${BATCH} FROM upload_batches WHERE owner = $1 AND ($2::uuid IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
    [owner, behind, limit],
  );
  return rows;
}

/** How many files of each batch are in each state. Files that are being deleted are not counted. */
export async function countStates(sql: Sql, ids: readonly string[]): Promise<Map<string, Record<string, number>>> {
  const { rows } = await sql.query<{ batchId: string; states: Record<string, number> }>(
    `SELECT "batchId", json_object_agg(state, count) AS states FROM (
       SELECT f.batch_id AS "batchId", i.state, count(*)::int AS count FROM files f JOIN items i ON i.id = f.id
       WHERE f.batch_id = ANY ($1) AND f.deleting_at IS NULL GROUP BY f.batch_id, i.state) counted
     GROUP BY "batchId"`,
    [ids],
  );
  return new Map(rows.map(({ batchId, states }) => [batchId, states]));
}

/** One file fewer is waited for. The last file completes a batch that is active. */
export const ONE_FEWER = `unconfirmed = unconfirmed - 1,
  status = CASE WHEN unconfirmed = 1 AND status = 'active' THEN 'completed' ELSE status END,
  ended_at = CASE WHEN unconfirmed = 1 AND status = 'active' THEN now() ELSE ended_at END`;

/** Notes that the file is confirmed, and counts it in its batch. The caller has locked the item. False: the batch takes no more
 *  confirmations, because it has expired or was cancelled. */
export async function countConfirmed(transaction: Sql, fileId: string): Promise<boolean> {
  const { rowCount } = await transaction.query(
    `WITH counted AS (
       UPDATE upload_batches b SET ${ONE_FEWER} FROM files f
       WHERE f.id = $1 AND f.deleting_at IS NULL AND b.id = f.batch_id AND b.status = 'active' AND b.expires_at > now()
       RETURNING f.id AS file_id
     )
     UPDATE files SET confirmed_at = now() FROM counted WHERE id = file_id`,
    [fileId],
  );
  return rowCount === 1;
}

/** Counts a file out of its batch before its row is deleted, if it was not confirmed. The caller has locked the item. */
export async function countOut(transaction: Sql, fileId: string): Promise<void> {
  await transaction.query(
    `UPDATE upload_batches b SET ${ONE_FEWER} FROM files f
     WHERE f.id = $1 AND b.id = f.batch_id AND f.confirmed_at IS NULL AND b.unconfirmed > 0`,
    [fileId],
  );
}

/** Cancels a batch, whose unconfirmed files are to be deleted from then on. Null: the batch is not active. A confirmation waits here
 *  for the batch's row, and is then refused. */
export async function cancelBatch(transaction: Sql, id: string): Promise<{ id: string; blobKey: string }[] | null> {
  const { rowCount } = await transaction.query(
    `UPDATE upload_batches SET status = 'cancelled', ended_at = now()
     WHERE id = $1 AND status = 'active'`,
    [id],
  );
  if (rowCount === 0) return null;
  // A statement of its own, because it must see the confirmations that the first one waited for.
  const { rows } = await transaction.query<{ id: string; blobKey: string }>(
    `UPDATE files SET deleting_at = COALESCE(deleting_at, now()), email = NULL
     WHERE batch_id = $1 AND confirmed_at IS NULL RETURNING id, blob_key AS "blobKey"`,
    [id],
  );
  return rows;
}

/** A file as its batch's routes see it. */
export interface BatchFile {
  /** Of the batch. */
  owner: string;
  status: BatchStatus;
  /** The batch takes confirmations. */
  isOpen: boolean;
  /** The file is in the batch and is not being deleted. The fields below are of no meaning otherwise. */
  isThere: boolean;
  blobKey: string;
  sizeBytes: number;
  sha256: string | null;
  confirmedAt: Date | null;
}

/** Null: there is no such batch. */
export async function findBatchFile(sql: Sql, batchId: string, fileId: string): Promise<BatchFile | null> {
  const { rows } = await sql.query<BatchFile>(
    `SELECT b.owner, b.status, b.status = 'active' AND b.expires_at > now() AS "isOpen",
       f.id IS NOT NULL AND f.deleting_at IS NULL AS "isThere", COALESCE(f.blob_key, '') AS "blobKey",
       COALESCE(f.size_bytes, 0)::float8 AS "sizeBytes", f.sha256, f.confirmed_at AS "confirmedAt"
     FROM upload_batches b LEFT JOIN files f ON f.batch_id = b.id AND f.id = $2 WHERE b.id = $1`,
    [batchId, fileId],
  );
  return rows[0] ?? null;
}
