import type { Sql, Statement } from '../../../../ports/sql.js';

/** A piece of text that waits for its vector. */
export interface BareChunk {
  seq: number;
  text: string;
  title: string | null;
}

/** The next chunks behind a chunk that have no vector of the model, in their order. */
export async function listBareChunks(
  sql: Sql,
  fileId: string,
  { model, behind, limit }: { model: string; behind: number; limit: number },
): Promise<BareChunk[]> {
  const { rows } = await sql.query<BareChunk>(
    `SELECT seq, text, title FROM file_chunks
     WHERE file_id = $1 AND seq > $2 AND (vector IS NULL OR model IS DISTINCT FROM $3) ORDER BY seq LIMIT $4`,
    [fileId, behind, model, limit],
  );
  return rows;
}

export async function countChunks(
  sql: Sql,
  fileId: string,
  model: string,
): Promise<{ chunks: number; embedded: number }> {
  const { rows } = await sql.query<{ chunks: number; embedded: number }>(
    `SELECT count(*)::int AS chunks, (count(*) FILTER (WHERE vector IS NOT NULL AND model = $2))::int AS embedded
     FROM file_chunks WHERE file_id = $1`,
    [fileId, model],
  );
  return rows[0] ?? { chunks: 0, embedded: 0 };
}

/** Stores the vectors of some chunks of the attempt's file, if the attempt still has its task. */
export function keepVectors(model: string, seqs: readonly number[], vectors: readonly Uint8Array[]): Statement {
  return {
    text: `UPDATE file_chunks SET model = $1, vector = given.vector
           FROM guard, unnest($2::int[], $3::bytea[]) AS given (seq, vector)
           WHERE file_id = guard.item_id AND file_chunks.seq = given.seq`,
    values: [model, seqs, vectors.map((bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))],
  };
}
