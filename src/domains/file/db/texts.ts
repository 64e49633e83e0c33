import type { Sql } from '../../../ports/sql.js';
import type { TextPart } from '../core/part.js';
import { storableJson } from '../../../db/postgres/parameters.js';

export interface StoredFile {
  name: string;
  sizeBytes: number;
  sha256: string | null;
  blobKey: string;
}

export interface ExtractedText {
  format: string;
  parts: readonly TextPart[];
  pages?: number;
  width?: number;
  height?: number;
  isRecognized: boolean;
  isTruncated: boolean;
}

/** What the extract stage must know of a file. Undefined: the file was deleted. */
export async function findStoredFile(sql: Sql, id: string): Promise<StoredFile | undefined> {
  const { rows } = await sql.query<Omit<StoredFile, 'sizeBytes'> & { sizeBytes: string }>(
    'SELECT name, size_bytes AS "sizeBytes", sha256, blob_key AS "blobKey" FROM files WHERE id = $1',
    [id],
  );
  return rows[0] && { ...rows[0], sizeBytes: Number(rows[0].sizeBytes) };
}

/** Undefined: no text was extracted. */
export async function findTextParts(sql: Sql, fileId: string): Promise<TextPart[] | undefined> {
  const { rows } = await sql.query<{ parts: TextPart[] }>('SELECT parts FROM file_texts WHERE file_id = $1', [fileId]);
  return rows[0]?.parts;
}

export function charsIn(parts: readonly TextPart[]): number {
  return parts.reduce((sum, { text, header }) => sum + text.length + (header?.length ?? 0), 0);
}

/** Replaces the text of a file as a whole, and says of the file what its content is. Both in one statement, in the transaction of the
 *  commit: an attempt that was superseded writes neither. */
export async function saveText(transaction: Sql, fileId: string, text: ExtractedText): Promise<void> {
  const { format, parts, pages = null, width = null, height = null, isRecognized, isTruncated } = text;
  await transaction.query(
    `WITH described AS (
       UPDATE files SET format = $2, pages = $3, width = $4, height = $5 WHERE id = $1 RETURNING id
     )
     INSERT INTO file_texts (file_id, parts, chars, is_recognized, is_truncated)
     SELECT id, $6::jsonb, $7, $8, $9 FROM described
     ON CONFLICT (file_id) DO UPDATE SET parts = excluded.parts, chars = excluded.chars,
       is_recognized = excluded.is_recognized, is_truncated = excluded.is_truncated`,
    [fileId, format, pages, width, height, storableJson(parts), charsIn(parts), isRecognized, isTruncated],
  );
}
