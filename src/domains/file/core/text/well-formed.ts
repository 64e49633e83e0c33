/** The most text that is kept of a file: a shelf of 20 thick books, which fits in the memory of every process that handles it. */
export const MAX_CHARS = 20_000_000;

/** Replaces NUL and halves of surrogate pairs, which Postgres can't store. Other control characters mean nothing in a text and are
 *  left out. */
export function wellFormed(text: string): string {
  return text
    .replace(/\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd')
    .replace(/[\x01-\x08\x0b\x0e-\x1f\x7f]/g, '');
}

/** Cuts a text without leaving half of a surrogate pair at its end. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text;
  const isHalf = /[\ud800-\udbff]/.test(text.charAt(max - 1));
  return text.slice(0, isHalf ? max - 1 : max);
}
