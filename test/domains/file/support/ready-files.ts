import { v7 as uuidv7 } from 'uuid';
import type { Sql } from '../../../../src/ports/sql.js';
import type { Embedder } from '../../../../src/ports/embedder.js';
import { bytesOfVector } from '../../../../src/domains/file/core/search/vector-bytes.js';
import { replaceChunks } from '../../../../src/domains/file/db/chunks.js';
import type { Chunk } from '../../../../src/domains/file/ports/extractor.js';
import { embeddedTextOf } from '../../../../src/domains/file/activities/embed.js';

export interface GivenFile {
  owner: string;
  texts: readonly (string | Partial<Chunk>)[];
  name?: string;
  state?: string;
  embedder?: Embedder;
}

export interface StoredFile {
  id: string;
  language: string | null;
}

/** A file as the stages leave it. Without an embedder its chunks have no vectors. */
export async function storeFile(sql: Sql, given: GivenFile): Promise<StoredFile> {
  const { owner, texts, name = 'notes.txt', state = 'ready', embedder } = given;
  const [id, batchId] = [uuidv7(), uuidv7()];
  await sql.query(
    `WITH item AS (INSERT INTO items (id, pipeline, owner, state, updated_at) VALUES ($1, 'file', $2, $3, now())),
       batch AS (INSERT INTO upload_batches (id, owner, files, unconfirmed, expires_at) VALUES ($4, $2, 1, 0, now()))
     SELECT 1`,
    [id, owner, state, batchId],
  );
  await sql.query(
    `INSERT INTO files (id, owner, batch_id, client_id, name, mime_type, size_bytes, blob_key)
     VALUES ($1::uuid, $2, $3, 'a', $4, 'text/plain', 1, $1::uuid::text)`,
    [id, owner, batchId, name],
  );
  const chunks = texts.map((each): Chunk => ({
    text: '',
    tokens: 1,
    ...(typeof each === 'string' ? { text: each } : each),
  }));
  const { language } = await replaceChunks(sql, { id, owner }, chunks);
  if (embedder) await embedChunks(sql, { id, chunks, embedder });
  return { id, language };
}

async function embedChunks(
  sql: Sql,
  { id, chunks, embedder }: { id: string; chunks: readonly Chunk[]; embedder: Embedder },
): Promise<void> {
  const texts = chunks.map(({ text, title = null }) => embeddedTextOf({ title, text }));
  const vectors = await embedder.embed(texts, new AbortController().signal);
  await sql.query(
    `UPDATE file_chunks SET model = $2, vector = given.vector
     FROM unnest($3::int[], $4::bytea[]) AS given (seq, vector) WHERE file_id = $1 AND file_chunks.seq = given.seq`,
    [id, embedder.model, vectors.map((_, at) => at + 1), vectors.map((vector) => Buffer.from(bytesOfVector(vector)))],
  );
}
