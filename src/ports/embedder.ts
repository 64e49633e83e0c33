/** Turns texts into vectors whose nearness is nearness in meaning. Every adapter keeps the promises of test/ports/embedder-contract.ts.
 *  An endpoint that does not answer fails with AppError `model_unavailable`, which is worth another try. */
export interface Embedder {
  /** Vectors of two models cannot be compared. */
  model: string;
  dimension: number;
  /** Vectors of length 1, in the order of the texts. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]>;
  close(): Promise<void>;
}

/** Opens the configured embedder once in each process, when it is first needed. */
export type OpenEmbedder = () => Promise<Embedder>;
