import type { Sql, Statement } from '../../../ports/sql.js';
import { Parameters } from '../../../db/postgres/parameters.js';
import type { TextPart } from '../ports/extractor.js';
import type { BatchStatus } from './batches.js';

export interface NewFile {
  batchId: string;
  owner: string;
  clientId: string;
  name: string;
  mimeType: string;
  sizeBytes: number;
  sha256: string | undefined;
  /** The part of the blob's key before the file's id. */
  blobPrefix: string;
  email: string | undefined;
}

/** The own row of a file, inserted with its item. */
export function fileRow(file: NewFile): Statement {
  const { batchId, owner, clientId, name, mimeType, sizeBytes, sha256, blobPrefix, email } = file;
  return {
    text: `INSERT INTO files (id, owner, batch_id, client_id, name, mime_type, size_bytes, sha256, blob_key, email)
      SELECT id, $1::text, $2::uuid, $3::text, $4::text, $5::text, $6::bigint, $7::text, $8::text || id, $9::text FROM item`,
    values: [owner, batchId, clientId, name, mimeType, sizeBytes, sha256 ?? null, blobPrefix, email ?? null],
  };
}

/** A file as lists show it. */
export interface ListedFile {
  id: string;
  owner: string;
  batchId: string;
  clientId: string;
  name: string;
  mimeType: string;
  sizeBytes: number;
  state: string;
  createdAt: Date;
  confirmedAt: Date | null;
  endedAt: Date | null;
  error: string | null;
}

export interface FileRecord extends ListedFile {
  sha256: string | null;
  blobKey: string;
  isEnded: boolean;
  errorClass: string | null;
  format: string | null;
  pages: number | null;
  width: number | null;
  height: number | null;
  language: string | null;
  chunks: number | null;
  /** Whether its text is there. */
  hasText: boolean;
}

const LISTED = `f.id, f.owner, f.batch_id AS "batchId", f.client_id AS "clientId", f.name, f.mime_type AS "mimeType",
  f.size_bytes::float8 AS "sizeBytes", i.state, f.created_at AS "createdAt", f.confirmed_at AS "confirmedAt",
  i.ended_at AS "endedAt", i.error_message AS error`;

const RECORD = `${LISTED}, f.sha256, f.blob_key AS "blobKey", i.ended_at IS NOT NULL AS "isEnded", i.error_class AS "errorClass",
  f.format, f.pages, f.width, f.height, f.language, f.chunks,
  EXISTS (SELECT 1 FROM file_texts t WHERE t.file_id = f.id) AS "hasText"`;

/** Null: there is no such file, or it is being deleted. */
export async function findFile(sql: Sql, id: string): Promise<FileRecord | null> {
  const { rows } = await sql.query<FileRecord>(
    `SELECT ${RECORD} FROM files f JOIN items i ON i.id = f.id WHERE f.id = $1 AND f.deleting_at IS NULL`,
    [id],
  );
  return rows[0] ?? null;
}

/** A file whose bytes are on their way. */
export interface Upload {
  id: string;
  owner: string;
  batchId: string;
  state: string;
  sizeBytes: number;
  sha256: string | null;
  blobKey: string;
  /** Its batch takes bytes and confirmations. */
  isOpen: boolean;
  batchStatus: BatchStatus;
}

/** Null: there is no such file, or it is being deleted. */
export async function findUpload(sql: Sql, id: string): Promise<Upload | null> {
  const { rows } = await sql.query<Upload>(
    `SELECT f.id, f.owner, f.batch_id AS "batchId", i.state, f.size_bytes::float8 AS "sizeBytes", f.sha256,
       f.blob_key AS "blobKey", b.status = 'active' AND b.expires_at > now() AS "isOpen", b.status AS "batchStatus"
     FROM files f JOIN items i ON i.id = f.id JOIN upload_batches b ON b.id = f.batch_id
     WHERE f.id = $1 AND f.deleting_at IS NULL`,
    [id],
  );
  return rows[0] ?? null;
}

export interface ListBounds {
  owner: string;
  state: string | undefined;
  /** The last id of the page before. Null: this is the first page. */
  behind: string | null;
  /** The most rows that are examined. */
  examine: number;
  /** The most rows that are returned. */
  take: number;
}

export interface FileScan {
  files: ListedFile[];
  examined: number;
  lastId: string | null;
}

/** The owner's files, the newest first. An index gives the owner's items in order, and the filter is applied to at most `examine` of
 *  them, so that a page costs the same however rare the state is. */
export async function scanFiles(sql: Sql, { owner, state, behind, examine, take }: ListBounds): Promise<FileScan> {
  const p = new Parameters();
  const further = behind === null ? '' : `AND id < ${p.add(behind)}::uuid`;
  const wanted = state === undefined ? 'true' : `i.state = ${p.add(state)}`;
  const scanned = `SELECT id, pipeline, state FROM items WHERE owner = ${p.add(owner)} ${further} ORDER BY id DESC LIMIT ${p.add(examine)}`;
  const { rows } = await sql.query<FileScan & { files: ListedRow[] | null }>(
    `WITH scanned AS MATERIALIZED (${scanned}), hits AS MATERIALIZED (
       SELECT i.id FROM scanned i JOIN LATERAL (SELECT * FROM files WHERE id = i.id LIMIT 1) f ON true
       WHERE i.pipeline = 'file' AND f.deleting_at IS NULL AND ${wanted} ORDER BY i.id DESC LIMIT ${p.add(take)}
     )
     SELECT (SELECT count(*)::int FROM scanned) AS examined, (SELECT id FROM scanned ORDER BY id LIMIT 1) AS "lastId",
       (SELECT json_agg(to_json(listed) ORDER BY listed.id DESC)
        FROM (SELECT ${LISTED} FROM hits JOIN items i USING (id) JOIN files f USING (id)) listed) AS files`,
    p.values,
  );
  const [row] = rows;
  if (!row) throw new Error('a scan has no row');
  return { ...row, files: (row.files ?? []).map(listedOf) };
}

/** A listed file with times as JSON strings. */
type ListedRow = Omit<ListedFile, 'createdAt' | 'confirmedAt' | 'endedAt'> & {
  createdAt: string;
  confirmedAt: string | null;
  endedAt: string | null;
};

function listedOf({ createdAt, confirmedAt, endedAt, ...row }: ListedRow): ListedFile {
  return {
    ...row,
    createdAt: new Date(createdAt),
    confirmedAt: confirmedAt === null ? null : new Date(confirmedAt),
    endedAt: endedAt === null ? null : new Date(endedAt),
  };
}

/** The files of a batch in the order in which they were registered. */
export async function listFilesOf(sql: Sql, batchId: string): Promise<ListedFile[]> {
  const { rows } = await sql.query<ListedFile>(
    `SELECT ${LISTED} FROM files f JOIN items i ON i.id = f.id
     WHERE f.batch_id = $1 AND f.deleting_at IS NULL ORDER BY f.id`,
    [batchId],
  );
  return rows;
}

/** From now on the owner does not see the file. No mail about its end is sent, because the owner asked for it. False: another request
 *  deletes it. */
export async function markDeletedByOwner(sql: Sql, id: string): Promise<boolean> {
  const { rowCount } = await sql.query(
    'UPDATE files SET deleting_at = now(), email = NULL WHERE id = $1 AND deleting_at IS NULL',
    [id],
  );
  return rowCount === 1;
}

export interface Duplicate {
  fileId: string;
  name: string;
  state: string;
  sizeBytes: number;
  createdAt: string;
}

export interface DuplicatesOfFile {
  index: number;
  byName: Duplicate[];
  byHash: Duplicate[];
  /** Of both, those that are not ready or failed yet. */
  inFlight: Duplicate[];
}

/** More of them tell the owner nothing new. */
const DUPLICATES_SHOWN = 5;

/** The owner's own files that have the same name, or the same content, as each of these files. */
export async function findDuplicates(
  sql: Sql,
  owner: string,
  files: readonly { name: string; sha256?: string | undefined }[],
): Promise<DuplicatesOfFile[]> {
  const { rows } = await sql.query<DuplicatesOfFile>(
    `SELECT asked.at::int - 1 AS index, ${duplicatesBy('f.name = asked.name')} AS "byName",
       ${duplicatesBy('f.sha256 = asked.sha256 AND f.sha256 IS NOT NULL')} AS "byHash",
       ${duplicatesBy('(f.name = asked.name OR f.sha256 = asked.sha256) AND i.ended_at IS NULL')} AS "inFlight"
     FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS asked(name, sha256, at) ORDER BY at`,
    [owner, files.map(({ name }) => name), files.map(({ sha256 }) => sha256?.toLowerCase() ?? null)],
  );
  return rows;
}

function duplicatesBy(condition: string): string {
  return `COALESCE((SELECT json_agg(found) FROM (
      SELECT f.id AS "fileId", f.name, i.state, f.size_bytes AS "sizeBytes",
        to_char(f.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "createdAt"
      FROM files f JOIN items i ON i.id = f.id
      WHERE f.owner = $1 AND f.deleting_at IS NULL AND ${condition} ORDER BY f.id DESC LIMIT ${DUPLICATES_SHOWN}
    ) found), '[]'::json)`;
}

export interface FileText {
  parts: TextPart[];
  chars: number;
  isRecognized: boolean;
  isTruncated: boolean;
}

export async function findText(sql: Sql, fileId: string): Promise<FileText | null> {
  const { rows } = await sql.query<FileText>(
    `SELECT parts, chars, is_recognized AS "isRecognized", is_truncated AS "isTruncated" FROM file_texts WHERE file_id = $1`,
    [fileId],
  );
  return rows[0] ?? null;
}

export interface StoredChunk {
  seq: number;
  text: string;
  title: string | null;
  page: number | null;
  tokens: number;
  model: string | null;
}

export async function listChunks(
  sql: Sql,
  fileId: string,
  { behind, limit }: { behind: number; limit: number },
): Promise<StoredChunk[]> {
  const { rows } = await sql.query<StoredChunk>(
    'SELECT seq, text, title, page, tokens, model FROM file_chunks WHERE file_id = $1 AND seq > $2 ORDER BY seq LIMIT $3',
    [fileId, behind, limit],
  );
  return rows;
}

/** A file that is tried again is warned of anew before it is deleted. */
export async function forgetWarning(sql: Sql, id: string): Promise<void> {
  await sql.query('UPDATE files SET warned_at = NULL WHERE id = $1 AND warned_at IS NOT NULL', [id]);
}
