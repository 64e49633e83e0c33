import type { Sql } from '../../../../ports/sql.js';
import { IS_FOUND } from './list-ready-files.js';

export interface Passage {
  fileId: string;
  seq: number;
  fileName: string;
  page: number | null;
  title: string | null;
  text: string;
}

/** Passages of the owner by file and place, in any order. A passage whose file has left in the meantime is not among them. */
export async function findPassages(
  sql: Sql,
  owner: string,
  places: readonly { fileId: string; seq: number }[],
): Promise<Passage[]> {
  const { rows } = await sql.query<Passage>(
    `SELECT chunk.file_id AS "fileId", chunk.seq, files.name AS "fileName", chunk.page, chunk.title, chunk.text
     FROM unnest($2::uuid[], $3::int[]) AS asked (file_id, seq)
       JOIN file_chunks AS chunk ON chunk.file_id = asked.file_id AND chunk.seq = asked.seq
       JOIN files ON files.id = chunk.file_id JOIN items ON items.id = chunk.file_id
     WHERE items.owner = $1 AND chunk.owner = $1 AND ${IS_FOUND}`,
    [owner, places.map(({ fileId }) => fileId), places.map(({ seq }) => seq)],
  );
  return rows;
}
