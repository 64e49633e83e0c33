/** A file whose passages may be found. */
export interface ReadyFile {
  id: string;
  /** Rises with every change of the file, so that a file that was read anew is not searched by its old vectors. */
  version: number;
  language: string | null;
  chunks: number;
}

export interface VectorQuery {
  owner: string;
  model: string;
  vector: Float32Array;
  /** All that may be found. The index forgets other files of the owner. */
  files: readonly ReadyFile[];
  limit: number;
}

export interface VectorHit {
  fileId: string;
  seq: number;
  /** The cosine of the angle between the two vectors: 1 for the same meaning. */
  nearness: number;
}

export interface VectorAnswer {
  /** The nearest first. */
  hits: VectorHit[];
  /** How many vectors of the model these files have. */
  vectors: number;
}

/** Finds the passages of one owner that are nearest to a vector, among all of them. */
export interface VectorIndex {
  search(query: VectorQuery): Promise<VectorAnswer>;
  close(): Promise<void>;
}

/** Vectors of the chunks of files, one behind the other, as the database keeps them. */
export interface VectorPage {
  fileIds: string[];
  seqs: number[];
  bytes: Uint8Array;
}

/** The vectors of these files, page by page, in the order of files and chunks. */
export type ReadVectors = (query: {
  owner: string;
  model: string;
  fileIds: readonly string[];
}) => AsyncIterable<VectorPage>;
