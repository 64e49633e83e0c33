/** `table`: `header` is the first row, and every line of `text` is a row behind it. `markdown`: headings begin with `#`. */
export interface TextPart {
  kind: 'text' | 'markdown' | 'table' | 'code';
  text: string;
  /** The name of a sheet, or the title of a slide. */
  title?: string;
  /** The page, slide or sheet, counted from 1. */
  page?: number;
  header?: string;
}

/** A piece of text that is found as a whole. */
export interface Chunk {
  text: string;
  /** The heading, sheet or slide under which it stands. */
  title?: string;
  page?: number;
  tokens: number;
}
