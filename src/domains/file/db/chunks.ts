import type { Sql } from '../../../ports/sql.js';
import type { Chunk } from '../core/part.js';

/** A stand-in for the tests of the chunk stage: neither language nor words. */
export async function replaceChunks(
  transaction: Sql,
  file: { id: string; owner: string },
  chunks: readonly Chunk[],
): Promise<{ language: string | null }> {
  await transaction.query('DELETE FROM file_chunks WHERE file_id = $1', [file.id]);
  await transaction.query(
    `INSERT INTO file_chunks (file_id, seq, owner, text, title, page, tokens, words)
     SELECT $1, seq, $2, text, title, page, tokens, to_tsvector('simple', text)
     FROM unnest($3::text[], $4::text[], $5::int[], $6::int[]) WITH ORDINALITY AS c (text, title, page, tokens, seq)`,
    [
      file.id,
      file.owner,
      chunks.map(({ text }) => text),
      chunks.map(({ title }) => title ?? null),
      chunks.map(({ page }) => page ?? null),
      chunks.map(({ tokens }) => tokens),
    ],
  );
  await transaction.query('UPDATE files SET chunks = $2 WHERE id = $1', [file.id, chunks.length]);
  return { language: null };
}
