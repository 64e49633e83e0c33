import type pg from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { blobPrefixOf } from '../../../../src/domains/file/db/blob-key.js';

export interface MadeFile {
  owner?: string;
  name?: string;
  state?: string;
  batchId?: string;
  sizeBytes?: number;
  email?: string;
  rescues?: number;
  error?: string;
  parked?: boolean;
  /** Seconds before now. */
  createdAgo?: number;
  /** Of the last move and the last sign of life. */
  movedAgo?: number;
  confirmedAgo?: number;
  warnedAgo?: number;
  deletingAgo?: number;
}

export interface StoredFile {
  id: string;
  blobKey: string;
  batchId: string;
}

const DAY = 86_400;
export const daysAgo = (days: number): number => days * DAY;
export const hoursAgo = (hours: number): number => hours * 3_600;

const FINAL = ['ready', 'failed'];

export async function makeBatch(
  pool: pg.Pool,
  made: { owner?: string; status?: string; createdAgo?: number; expiresIn?: number; unconfirmed?: number } = {},
): Promise<string> {
  const id = uuidv7();
  await pool.query(
    `INSERT INTO upload_batches (id, owner, status, files, unconfirmed, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $4, now() - $5 * interval '1 second', now() + $6 * interval '1 second')`,
    [
      ...[id, made.owner ?? 'alice', made.status ?? 'active', made.unconfirmed ?? 0, made.createdAgo ?? 0],
      made.expiresIn ?? DAY,
    ],
  );
  return id;
}

/** A file with a past, written at once as the pipeline would have left it. Its batch counts it as unconfirmed while it waits for its
 *  upload. */
export async function makeFile(pool: pg.Pool, made: MadeFile = {}): Promise<StoredFile> {
  const id = uuidv7();
  const { owner = 'alice', state = 'registered', name = 'report.pdf', createdAgo = 0, movedAgo = createdAgo } = made;
  const batchId = made.batchId ?? (await makeBatch(pool, { owner }));
  const blobKey = `${blobPrefixOf(owner)}${id}`;
  const isFinal = FINAL.includes(state);
  const waits = ['registered', 'uploaded'].includes(state);
  await pool.query(
    `INSERT INTO items (id, pipeline, owner, state, started, rescues, last_rescue_at, error_class, error_message, error_stage, parked_at,
       created_at, entered_at, beat_at, updated_at, ended_at, end_reason)
     SELECT $1::uuid, 'file', $2, $3::text, $4::boolean, $5::int, CASE WHEN $5::int > 0 THEN now() - interval '1 hour' END, CASE WHEN $6::text IS NOT NULL THEN 'BAD_INPUT' END,
       $6::text, CASE WHEN $6::text IS NOT NULL THEN 'extract' END, CASE WHEN $7::boolean THEN now() END,
       now() - $8 * s, now() - $9 * s, now() - $9 * s, now() - $9 * s, CASE WHEN $10::boolean THEN now() - $9 * s END,
       CASE WHEN $3::text = 'failed' THEN 'BAD_INPUT' END
     FROM (SELECT interval '1 second' AS s) AS second`,
    [
      ...[id, owner, state, !waits && !isFinal, made.rescues ?? 0, made.error ?? null, made.parked ?? false],
      ...[createdAgo, movedAgo, isFinal],
    ],
  );
  await pool.query(
    `INSERT INTO files (id, owner, batch_id, client_id, name, mime_type, size_bytes, blob_key, email, created_at, confirmed_at, warned_at, deleting_at)
     SELECT $1::uuid, $2, $3::uuid, $1::uuid::text, $4, 'application/pdf', $5::bigint, $6, $7, now() - $8 * s, now() - $9::float8 * s, now() - $10::float8 * s,
       now() - $11::float8 * s
     FROM (SELECT interval '1 second' AS s) AS second`,
    [
      ...[id, owner, batchId, name, made.sizeBytes ?? 10, blobKey, made.email ?? null, createdAgo],
      made.confirmedAgo ?? (waits ? null : createdAgo),
      ...[made.warnedAgo ?? null, made.deletingAgo ?? null],
    ],
  );
  if (waits) await pool.query('UPDATE upload_batches SET unconfirmed = unconfirmed + 1 WHERE id = $1', [batchId]);
  return { id, blobKey, batchId };
}

export async function stateOf(pool: pg.Pool, id: string): Promise<string | null> {
  const { rows } = await pool.query<{ state: string }>('SELECT state FROM items WHERE id = $1', [id]);
  return rows[0]?.state ?? null;
}
