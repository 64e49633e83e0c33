import type { Chunk, TextPart } from '../core/part.js';

export type { Chunk, TextPart };

/** What is in a file. The text is well-formed: no NUL, no half of a surrogate pair. */
export interface Extraction {
  /** As the content says, not the name: pdf, docx, xlsx, pptx, text, markdown, csv, html, json, code, png, jpeg, … */
  format: string;
  parts: TextPart[];
  pages?: number;
  width?: number;
  height?: number;
  /** The text was read from a picture. */
  isRecognized: boolean;
  /** The text is longer than what is kept of it. */
  isTruncated: boolean;
}

/** Reads contents that may be hostile, in a process of its own that is ended when it takes too long or too much memory. Fails with
 *  `bad_input` and a sentence for the owner when the content cannot be read. */
export interface Extractor {
  extract(
    content: ContentOnDisk,
    signal: AbortSignal,
    tell: (progress: ExtractionProgress) => void,
  ): Promise<Extraction>;
  split(parts: readonly TextPart[], signal: AbortSignal): Promise<Chunk[]>;
  /** The process id, for tests and the doctor. Undefined: there is no such process at the moment. */
  childPid(): number | undefined;
  close(): void;
}

export interface ContentOnDisk {
  path: string;
  /** The name that the owner gave it. It decides only between kinds of text that look alike. */
  name: string;
}

export type ExtractionProgress = { waitsBehind: number } | { page: number; of: number } | { reading: string };
