/** Counts the tokens of a text. */
export type CountTokens = (text: string) => number;

/** What the embedding models take at once, and what a reader takes in at a glance. */
export const MAX_TOKENS = 512;

/** A sentence or two: a thought that is cut in two stands whole in one of the chunks. */
export const OVERLAP_TOKENS = 50;

/** Of one file. Most texts of 20 million characters make fewer. The embedder takes ten a second where it is slowest, so more would
 *  not be done within its stage. */
export const MAX_CHUNKS = 20_000;
