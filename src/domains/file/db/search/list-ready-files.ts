import type { Sql } from '../../../../ports/sql.js';
import type { ReadyFile } from '../../ports/vector-index.js';

/** The files of an owner that can be found: ready, and not about to be deleted. */
export const IS_FOUND = `items.pipeline = 'file' AND items.state = 'ready' AND files.deleting_at IS NULL`;

export async function listReadyFiles(sql: Sql, owner: string): Promise<ReadyFile[]> {
  const { rows } = await sql.query<ReadyFile>(
    `SELECT files.id, items.version, files.language, coalesce(files.chunks, 0) AS chunks
     FROM items JOIN files ON files.id = items.id WHERE items.owner = $1 AND ${IS_FOUND}`,
    [owner],
  );
  return rows;
}
