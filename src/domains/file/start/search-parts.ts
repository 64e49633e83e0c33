import type { ApiParts } from '../../../api/parts.js';
import { createVectorIndex } from '../adapters/vectors/vector-index.js';
import type { SearchDeps } from '../api/search-files.js';
import { createReadVectors } from '../db/search/read-vectors.js';

/** What the search needs; built once in an API process. */
export function createSearchParts(
  { pool, embedder }: Pick<ApiParts, 'pool' | 'embedder'>,
  { maxBytes }: { maxBytes: number },
): SearchDeps {
  return { pool, embedder, vectors: createVectorIndex({ read: createReadVectors(pool), maxBytes }) };
}
