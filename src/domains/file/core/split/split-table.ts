import { type Piece, splitText } from './split-text.js';
import { type CountTokens, MAX_CHUNKS, MAX_TOKENS } from './tokenizer.js';

/** A longer header would leave too little room for rows. It is then a row like the others. */
const MAX_HEADER_TOKENS = MAX_TOKENS / 4;

/** Rows together, as many as have room, below the header. A row that is too long is cut like a text, and each of its pieces has the
 *  header too. */
export function splitTable(
  { header = '', text }: { header?: string | undefined; text: string },
  countTokens: CountTokens,
  maxPieces = MAX_CHUNKS,
): Piece[] {
  const head = header.trim() === '' ? '' : `${header.trimEnd()}\n`;
  // A row that is cut short before it is counted cannot take the tokenizer long.
  const isShort = head.length <= MAX_HEADER_TOKENS * 20 && countTokens(head) <= MAX_HEADER_TOKENS;
  if (!isShort) return splitTable({ text: `${header}\n${text}` }, countTokens, maxPieces);
  const rows = text.split('\n').filter((row) => row.trim() !== '');
  if (rows.length === 0) return head === '' ? [] : [pieceOf('')];

  // The header and the rows have other tokens together than one by one, so some room is left.
  const room = MAX_TOKENS - countTokens(head) - 12;
  const pieces: Piece[] = [];
  let [held, tokens]: [string[], number] = [[], 0];
  for (const row of rows) {
    if (pieces.length >= maxPieces) return pieces;
    // No row with more characters has room, and counting it would take long.
    const cost = row.length > room * 20 ? Infinity : countTokens(row) + 1;
    if (tokens + cost > room) flush();
    if (cost > room) pieces.push(...cut(row));
    else [held, tokens] = [[...held, row], tokens + cost];
  }
  flush();
  return pieces.slice(0, maxPieces);

  function flush(): void {
    if (held.length > 0) pieces.push(...fit(held.join('\n')));
    [held, tokens] = [[], 0];
  }

  function fit(body: string): Piece[] {
    const piece = pieceOf(body);
    return piece.tokens <= MAX_TOKENS ? [piece] : cut(body);
  }

  function cut(body: string): Piece[] {
    const own = splitText(body, countTokens, { maxTokens: room, overlap: 0, maxPieces });
    return own.flatMap(({ text: part }) => {
      const piece = pieceOf(part);
      return piece.tokens <= MAX_TOKENS ? [piece] : splitText(piece.text, countTokens, { overlap: 0 });
    });
  }

  function pieceOf(body: string): Piece {
    const whole = `${head}${body}`.trim();
    return { text: whole, tokens: countTokens(whole) };
  }
}
