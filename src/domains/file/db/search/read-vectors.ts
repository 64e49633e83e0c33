import type { Sql } from '../../../../ports/sql.js';
import type { ReadVectors, VectorPage } from '../../ports/vector-index.js';

/** A megabyte of vectors of the local model. Reading a page holds up the event loop for a few milliseconds. */
const PAGE = 500;

interface Row {
  fileId: string;
  seq: number;
  vector: Buffer;
}

/** Pages by the primary key, so that no page reads what another has read. The owner is a condition of its own, so that a wrong id could
 *  bring no other person's passage. */
export function createReadVectors(sql: Sql): ReadVectors {
  return async function* ({ owner, model, fileIds }) {
    let behind: Row | undefined;
    for (;;) {
      const { rows } = await sql.query<Row>(
        `SELECT file_id AS "fileId", seq, vector FROM file_chunks
         WHERE file_id = ANY($1::uuid[]) AND owner = $2 AND model = $3 AND vector IS NOT NULL
           AND ($4::uuid IS NULL OR (file_id, seq) > ($4::uuid, $5::int))
         ORDER BY file_id, seq LIMIT ${PAGE}`,
        [fileIds, owner, model, behind?.fileId ?? null, behind?.seq ?? 0],
      );
      if (rows.length > 0) yield pageOf(rows);
      behind = rows.at(-1);
      if (rows.length < PAGE) return;
    }
  };
}

function pageOf(rows: readonly Row[]): VectorPage {
  return {
    fileIds: rows.map(({ fileId }) => fileId),
    seqs: rows.map(({ seq }) => seq),
    bytes: Uint8Array.from(Buffer.concat(rows.map(({ vector }) => vector))),
  };
}
