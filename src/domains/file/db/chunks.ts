import type { Sql } from '../../../ports/sql.js';
import { detectLanguage, stemmerOf } from '../core/search/language.js';
import { foldAccents, spaceWords } from '../core/search/search-text.js';
import type { Chunk } from '../ports/extractor.js';

/** Words are spaced and folded between two statements of a transaction, which may idle for 1.5 s. Those of a hundred chunks take a tenth of
 *  that, also where words must be found by a dictionary. */
const CHUNKS_PER_STATEMENT = 100;

/** A few chunks tell the language. */
const CHUNKS_OF_SAMPLE = 10;

/** The words of a chunk: by their stems as they are written, by their stems without accents, and whole without accents. A query asks in
 *  the same three ways. */
const WORDS = `
  CASE WHEN $2::text IS NULL THEN '' ELSE to_tsvector($2::text::regconfig, spaced) || to_tsvector($2::text::regconfig, folded) END
  || to_tsvector('simple', folded)`;

/** Replaces all chunks of a file, so that a repeated stage never adds a chunk twice. The new chunks have no vectors. */
export async function replaceChunks(
  transaction: Sql,
  { id, owner }: { id: string; owner: string },
  chunks: readonly Chunk[],
): Promise<{ language: string | null }> {
  const language = detectLanguage(
    chunks
      .slice(0, CHUNKS_OF_SAMPLE)
      .map(({ text }) => text)
      .join('\n'),
  );
  await transaction.query('DELETE FROM file_chunks WHERE file_id = $1', [id]);
  for (let from = 0; from < chunks.length; from += CHUNKS_PER_STATEMENT) {
    const some = chunks.slice(from, from + CHUNKS_PER_STATEMENT);
    const spaced = some.map(({ text, title }) => spaceWords(title === undefined ? text : `${title}\n${text}`));
    await transaction.query(
      `INSERT INTO file_chunks (file_id, seq, owner, text, title, page, tokens, words)
       SELECT $1, seq, $3, text, title, page, tokens, ${WORDS}
       FROM unnest($4::int[], $5::text[], $6::text[], $7::int[], $8::int[], $9::text[], $10::text[])
         AS chunk (seq, text, title, page, tokens, spaced, folded)`,
      [
        ...[id, stemmerOf(language), owner],
        some.map((_, at) => from + at + 1),
        some.map(({ text }) => text),
        some.map(({ title }) => title ?? null),
        some.map(({ page }) => page ?? null),
        some.map(({ tokens }) => tokens),
        spaced,
        spaced.map(foldAccents),
      ],
    );
  }
  await transaction.query('UPDATE files SET language = $2, chunks = $3 WHERE id = $1', [id, language, chunks.length]);
  return { language };
}
