import { readVector } from '../../core/search/vector-bytes.js';
import type { VectorAnswer, VectorHit, VectorPage } from '../../ports/vector-index.js';

/** A file by its id and version, with the number of its chunks. */
export type ShelvedFile = readonly [id: string, version: number, chunks: number];

export interface Search {
  owner: string;
  model: string;
  vector: Float32Array;
  files: readonly ShelvedFile[];
  limit: number;
}

/** The vectors of owners in memory, bounded. No owner's search can see the shelf of another: each begins with its owner's own. */
export interface VectorShelf {
  /** Begins a search and answers the files whose vectors are not here. One search of an owner at a time. */
  begin(search: Search): string[];
  /** Takes vectors of missing files. Those that find no room are compared at once and forgotten. */
  add(owner: string, page: VectorPage): void;
  finish(owner: string): VectorAnswer;
  /** Ends a search whose files could not be read. */
  abandon(owner: string): void;
  bytes(): number;
}

interface KeptFile {
  version: number;
  seqs: number[];
  vectors: Float32Array;
  isWhole: boolean;
  /** It has more chunks than its row said, so that it is read again each time. */
  overflows: boolean;
}

interface Shelf {
  model: string;
  files: Map<string, KeptFile>;
}

interface Running extends Search {
  top: VectorHit[];
  passed: number;
}

const FLOAT_BYTES = 4;

export function createVectorShelf(maxBytes: number): VectorShelf {
  /** The owner that searched last stands last. */
  const shelves = new Map<string, Shelf>();
  const running = new Map<string, Running>();
  let kept = 0;

  function forget(shelf: Shelf, id: string): void {
    kept -= shelf.files.get(id)?.vectors.byteLength ?? 0;
    shelf.files.delete(id);
  }

  function drop(owner: string): void {
    const shelf = shelves.get(owner);
    if (!shelf) return;
    for (const id of [...shelf.files.keys()]) forget(shelf, id);
    shelves.delete(owner);
  }

  /** The owner's shelf without files that are gone, changed or half read. It becomes the one that was used last. */
  function tidyShelf({ owner, model, files }: Search): Shelf {
    if (shelves.get(owner)?.model !== model) drop(owner);
    const shelf = shelves.get(owner) ?? { model, files: new Map<string, KeptFile>() };
    const versions = new Map(files.map(([id, version]) => [id, version]));
    for (const [id, file] of shelf.files) {
      if (!file.isWhole || versions.get(id) !== file.version) forget(shelf, id);
    }
    shelves.delete(owner);
    shelves.set(owner, shelf);
    return shelf;
  }

  /** Makes room by dropping the owners whose last search is the longest ago. */
  function makeRoom(bytes: number): boolean {
    for (const owner of shelves.keys()) {
      if (kept + bytes <= maxBytes) break;
      if (!running.has(owner)) drop(owner);
    }
    return kept + bytes <= maxBytes;
  }

  return {
    begin(search) {
      const { owner, vector, files } = search;
      const shelf = tidyShelf(search);
      running.set(owner, { ...search, top: [], passed: 0 });
      const missing = files.filter(([id]) => !shelf.files.has(id));
      for (const [id, version, chunks] of missing) {
        const bytes = chunks * vector.length * FLOAT_BYTES;
        if (!makeRoom(bytes)) continue;
        kept += bytes;
        shelf.files.set(id, {
          version,
          seqs: [],
          vectors: new Float32Array(chunks * vector.length),
          isWhole: false,
          overflows: false,
        });
      }
      return missing.map(([id]) => id);
    },

    add(owner, { fileIds, seqs, bytes }) {
      const search = running.get(owner);
      const shelf = shelves.get(owner);
      if (!search || !shelf) return;
      const size = search.vector.length;
      const passing = new Float32Array(size);
      for (const [at, fileId] of fileIds.entries()) {
        const source = bytes.subarray(at * size * FLOAT_BYTES, (at + 1) * size * FLOAT_BYTES);
        const file = shelf.files.get(fileId);
        const start = (file?.seqs.length ?? 0) * size;
        // A file may have got more chunks than its row said when the search began.
        if (file && start + size <= file.vectors.length) {
          readVector(source, file.vectors.subarray(start, start + size));
          file.seqs.push(seqs[at]!);
          continue;
        }
        if (file) file.overflows = true;
        readVector(source, passing);
        search.passed += 1;
        offer(search, { fileId, seq: seqs[at]!, nearness: productOf(search.vector, passing, 0) });
      }
    },

    finish(owner) {
      const search = running.get(owner);
      const shelf = shelves.get(owner);
      if (!search || !shelf) return { hits: [], vectors: 0 };
      running.delete(owner);
      let vectors = search.passed;
      for (const [fileId, file] of shelf.files) {
        file.isWhole = !file.overflows;
        vectors += file.seqs.length;
        for (const [at, seq] of file.seqs.entries()) {
          offer(search, { fileId, seq, nearness: productOf(search.vector, file.vectors, at * search.vector.length) });
        }
      }
      return { hits: search.top, vectors };
    },

    abandon(owner) {
      running.delete(owner);
    },

    bytes: () => kept,
  };
}

/** The vectors have the length 1, so the product is the cosine. */
function productOf(query: Float32Array, vectors: Float32Array, from: number): number {
  let sum = 0;
  for (let at = 0; at < query.length; at += 1) sum += query[at]! * vectors[from + at]!;
  return sum;
}

/** Keeps the nearest in order. Most passages are no nearer than the last of them, so few are put in. */
function offer({ top, limit }: Running, hit: VectorHit): void {
  if (top.length === limit && hit.nearness <= (top.at(-1)?.nearness ?? 0)) return;
  const at = top.findIndex(({ nearness }) => nearness < hit.nearness);
  top.splice(at < 0 ? top.length : at, 0, hit);
  if (top.length > limit) top.pop();
}
