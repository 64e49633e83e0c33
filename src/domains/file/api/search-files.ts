import { isAppError } from '../../../core/errors.js';
import type { Embedder, OpenEmbedder } from '../../../ports/embedder.js';
import type { Sql } from '../../../ports/sql.js';
import { runWithinTime } from '../../../ports/within-time.js';
import { excerptOf } from '../core/search/excerpt.js';
import { type FusedHit, fuseHits } from '../core/search/fuse-hits.js';
import { findByWords } from '../db/search/find-by-words.js';
import { findPassages, type Passage } from '../db/search/find-passages.js';
import { listReadyFiles } from '../db/search/list-ready-files.js';
import type { ReadyFile, VectorAnswer, VectorIndex } from '../ports/vector-index.js';

export interface SearchDeps {
  pool: Sql;
  embedder: OpenEmbedder;
  vectors: VectorIndex;
}

export type FoundPassage = Passage & Pick<FusedHit, 'score' | 'foundBy'>;

export interface SearchAnswer {
  passages: FoundPassage[];
  /** The query could not be embedded, so passages were found by their words alone. */
  degraded: boolean;
  /** Null: no query was embedded. */
  model: string | null;
  /** Passages of the owner that have no vector of the model. Null: not counted. */
  withoutVector: number | null;
}

/** Longer than the local model takes to load on a busy machine. A person does not wait longer for a list. */
const EMBEDDED_WITHIN_MS = 10_000;

/** Each list is this much longer than the answer, because a passage may stand low in both and high in both together. */
const DEPTH = 2;
const LEAST_DEPTH = 50;

/** Searches the ready files of one owner by words and by meaning. */
export async function searchFiles(
  { pool, embedder, vectors }: SearchDeps,
  { owner, text, limit }: { owner: string; text: string; limit: number },
): Promise<SearchAnswer> {
  const files = await listReadyFiles(pool, owner);
  if (files.length === 0) return { passages: [], degraded: false, model: null, withoutVector: 0 };
  const depth = Math.max(LEAST_DEPTH, limit * DEPTH);
  const [byWords, meaning] = await Promise.all([
    findByWords(pool, { owner, text, files, limit: depth }),
    findByMeaning({ embedder, vectors }, { owner, text, files, limit: depth }),
  ]);
  const hits = fuseHits({ byWords, byMeaning: meaning?.hits ?? [] }).slice(0, limit);
  const found = await findPassages(pool, owner, hits);
  const chunks = files.reduce((sum, file) => sum + file.chunks, 0);
  return {
    passages: hits.flatMap((hit) => withText(hit, found, text)),
    degraded: meaning === null,
    model: meaning?.model ?? null,
    withoutVector: meaning && Math.max(0, chunks - meaning.vectors),
  };
}

type Meaning = VectorAnswer & { model: string };

/** Null: the query could not be embedded. Vectors of another model are not compared, so their passages are found by words alone. */
async function findByMeaning(
  { embedder: open, vectors }: Pick<SearchDeps, 'embedder' | 'vectors'>,
  { owner, text, files, limit }: { owner: string; text: string; files: readonly ReadyFile[]; limit: number },
): Promise<Meaning | null> {
  const embedded = await embedQuery(open, text);
  if (!embedded) return null;
  const [{ model }, vector] = embedded;
  const answer = await vectors.search({ owner, model, vector, files, limit });
  return { ...answer, model };
}

async function embedQuery(open: OpenEmbedder, text: string): Promise<[Embedder, Float32Array] | null> {
  try {
    return await runWithinTime({ timeoutMs: EMBEDDED_WITHIN_MS }, async (signal) => {
      const embedder = await openWithin(open, signal);
      const [vector] = embedder ? await embedder.embed([text], signal) : [];
      return embedder && vector ? [embedder, vector] : null;
    });
  } catch (error) {
    // Another fault is ours, and must not be taken for an embedder that is away.
    if (isAppError(error)) return null;
    throw error;
  }
}

/** Opening goes on behind the search, for the next one. Null: it takes too long for this one. */
function openWithin(open: OpenEmbedder, signal: AbortSignal): Promise<Embedder | null> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => {
      resolve(null);
    });
    open().then(resolve, reject);
  });
}

function withText(hit: FusedHit, found: readonly Passage[], query: string): FoundPassage[] {
  const passage = found.find(({ fileId, seq }) => fileId === hit.fileId && seq === hit.seq);
  if (!passage) return [];
  const { score, foundBy } = hit;
  return [{ ...passage, text: excerptOf(passage.text, query), score, foundBy }];
}
