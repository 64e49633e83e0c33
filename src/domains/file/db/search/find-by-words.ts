import type { Sql } from '../../../../ports/sql.js';
import { stemmerOf } from '../../core/search/language.js';
import { foldAccents, spaceWords, tameMinuses, wordsIn } from '../../core/search/search-text.js';
import { hasOperators, type QueryWord, weighWords, wordsToFind } from '../../core/search/word-weights.js';
import type { ReadyFile } from '../../ports/vector-index.js';
import { IS_FOUND } from './list-ready-files.js';

export interface WordHit {
  fileId: string;
  seq: number;
  /** The share of the query that the passage has, by the weight of its words: about 1 for a passage that has them all. */
  share: number;
}

/** More words than these say nothing new, and each is looked up by itself. */
const MAX_WORDS = 24;

/** So many passages are ranked at most, because ranking reads each of their word lists: some 50 ms. */
const MAX_RANKED = 2_000;

/** Which of two passages with the same words comes first: the one that has them closer together and more often. Small enough that it
 *  never outweighs a word. */
const CLOSENESS_SHARE = 0.1;

/** The passages of an owner's ready files that have words of the query, best first. A word is found by its stem in the languages of these
 *  files, and exactly. */
export async function findByWords(
  sql: Sql,
  { owner, text, files, limit }: { owner: string; text: string; files: readonly ReadyFile[]; limit: number },
): Promise<WordHit[]> {
  const spaced = spaceWords(text);
  const strict = tameMinuses(spaced);
  const stemmers = [...new Set(files.map(({ language }) => stemmerOf(language)))].filter((each) => each !== null);
  const total = files.reduce((sum, { chunks }) => sum + chunks, 0);
  const words = weighWords(await lookUpWords(sql, { owner, spaced, stemmers }), total);
  const wanted = wordsToFind(words, MAX_RANKED);
  const whole = words.reduce((sum, { weight }) => sum + weight, 0);
  if (wanted.length === 0 || whole === 0) return [];
  const { rows } = await sql.query<WordHit>(
    `WITH asked AS MATERIALIZED (SELECT $2::tsquery AS any_word, ${strictQuery('$6', '$7', '$8')} AS strict),
     found AS MATERIALIZED (
       SELECT chunk.file_id, chunk.seq, chunk.words
       FROM asked, file_chunks AS chunk JOIN files ON files.id = chunk.file_id JOIN items ON items.id = chunk.file_id
       WHERE chunk.owner = $1 AND items.owner = $1 AND ${IS_FOUND}
         AND chunk.words @@ CASE WHEN $9 THEN asked.strict ELSE asked.any_word END
       LIMIT ${MAX_RANKED})
     SELECT file_id AS "fileId", seq,
       (SELECT sum(word.weight) FROM unnest($3::text[], $4::float8[]) AS word (query, weight)
         WHERE found.words @@ word.query::tsquery) / $5::float8
       + ${CLOSENESS_SHARE} * ts_rank_cd(found.words, asked.strict || asked.any_word, 32) AS share
     FROM found, asked ORDER BY share DESC NULLS LAST, file_id, seq LIMIT $10`,
    [
      ...[owner, wanted.map(({ query }) => `(${query})`).join(' | ')],
      ...[words.map(({ query }) => query), words.map(({ weight }) => weight), whole],
      ...[strict, foldAccents(strict), stemmers, hasOperators(text), limit],
    ],
  );
  return rows.map(({ fileId, seq, share }) => ({ fileId, seq, share: Number(share ?? 0) }));
}

/** Each word of the query in all its forms, and how many passages of the owner have it. */
async function lookUpWords(
  sql: Sql,
  { owner, spaced, stemmers }: { owner: string; spaced: string; stemmers: readonly string[] },
): Promise<QueryWord[]> {
  const unique = new Map(wordsIn(spaced).map((word) => [foldAccents(word).toLowerCase(), word]));
  const words = [...unique].slice(0, MAX_WORDS);
  const { rows } = await sql.query<QueryWord>(
    `WITH form AS (
       SELECT word.place, plainto_tsquery('simple', word.folded) AS query, false AS is_stop
       FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS word (folded, spaced, place)
       UNION ALL
       SELECT word.place, plainto_tsquery(stemmer::regconfig, written), numnode(plainto_tsquery(stemmer::regconfig, written)) = 0
       FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS word (folded, spaced, place),
         unnest($4::text[]) AS stemmer, unnest(ARRAY[word.spaced, word.folded]) AS written),
     word AS MATERIALIZED (
       SELECT place, string_agg(DISTINCT '(' || query::text || ')', ' | ') FILTER (WHERE numnode(query) > 0) AS query,
         bool_or(is_stop) AS is_stop
       FROM form GROUP BY place)
     SELECT query, is_stop AS "isStop",
       (SELECT count(*)::int FROM file_chunks WHERE owner = $1 AND words @@ word.query::tsquery) AS passages
     FROM word WHERE query IS NOT NULL ORDER BY place`,
    [owner, words.map(([folded]) => folded), words.map(([, written]) => written), stemmers],
  );
  return rows;
}

/** The query as people write it for search engines, in each language and exactly. */
function strictQuery(spaced: string, folded: string, stemmers: string): string {
  return `coalesce((SELECT string_agg('(' || query::text || ')', ' | ') FROM (
      SELECT websearch_to_tsquery('simple', ${folded}) AS query
      UNION SELECT websearch_to_tsquery(stemmer::regconfig, written)
        FROM unnest(${stemmers}::text[]) AS stemmer, unnest(ARRAY[${spaced}::text, ${folded}::text]) AS written) AS each
    WHERE numnode(query) > 0), '')::tsquery`;
}
