import { type Atom, atomsOf, BREAK } from './atoms.js';
import { type CountTokens, MAX_CHUNKS, MAX_TOKENS, OVERLAP_TOKENS } from './tokenizer.js';

export interface Piece {
  text: string;
  tokens: number;
}

export interface SplitLimits {
  maxTokens?: number;
  overlap?: number;
  maxPieces?: number;
}

/** Cuts a text at the end of a paragraph if there is one in the last half of a piece, else of a line, a sentence or a word. Each
 *  piece begins with the end of the piece before it. A run without spaces is cut wherever it must be. */
export function splitText(text: string, countTokens: CountTokens, limits: SplitLimits = {}): Piece[] {
  const { maxTokens = MAX_TOKENS, overlap = OVERLAP_TOKENS, maxPieces = MAX_CHUNKS } = limits;
  const atoms = atomsOf(text, countTokens);
  const pieces: Piece[] = [];
  let [from, covered] = [0, 0];
  while (covered < atoms.length && pieces.length < maxPieces) {
    const { to, piece } = takePiece(from);
    if (piece.text !== '') pieces.push(piece);
    covered = to;
    from = to < atoms.length ? overlapStart(atoms, { from, to, overlap }) : to;
  }
  return pieces;

  /** The words of a text have other tokens together than one by one, so the piece is counted as a whole. */
  function takePiece(start: number): { to: number; piece: Piece } {
    let room = maxTokens;
    for (;;) {
      // A piece holds more than the overlap with the piece before it, or the text would not be moved on in.
      const to = Math.max(covered + 1, pieceEnd(atoms, start, room));
      const piece = pieceOf(start, to);
      if (piece.tokens <= maxTokens) return { to, piece };
      if (to > covered + 1) room = Math.max(1, Math.min(room - (piece.tokens - maxTokens), Math.floor(room * 0.95)));
      // Not even one more atom has room behind the overlap, which is then left out.
      else start = start < covered ? covered : start + 1;
    }
  }

  function pieceOf(start: number, to: number): Piece {
    const own = text.slice(atoms[start]?.start ?? 0, atoms[to - 1]?.end ?? 0).trim();
    return { text: own, tokens: own === '' ? 0 : countTokens(own) };
  }
}

/** The number of the atom behind the piece that begins with `from`. */
function pieceEnd(atoms: readonly Atom[], from: number, room: number): number {
  let [to, tokens] = [from, 0];
  for (let atom = atoms[to]; atom && tokens + atom.tokens <= room; atom = atoms[++to]) tokens += atom.tokens;
  if (to === atoms.length) return to;
  const least = from + Math.ceil((to - from) / 2);
  for (const wanted of [BREAK.paragraph, BREAK.line, BREAK.sentence, BREAK.word]) {
    for (let at = to; at > least; at -= 1) if ((atoms[at - 1]?.breakAfter ?? 0) >= wanted) return at;
  }
  return to;
}

/** Where the next piece begins: as far back as the overlap allows, behind the end of a sentence or line if there is one. */
function overlapStart(
  atoms: readonly Atom[],
  { from, to, overlap }: { from: number; to: number; overlap: number },
): number {
  let [start, tokens] = [to, 0];
  for (
    let atom = atoms[start - 1];
    start > from + 1 && atom && tokens + atom.tokens <= overlap;
    atom = atoms[start - 1]
  ) {
    tokens += atom.tokens;
    start -= 1;
  }
  for (const wanted of [BREAK.sentence, BREAK.word]) {
    for (let at = start; at < to; at += 1) if ((atoms[at - 1]?.breakAfter ?? 0) >= wanted) return at;
  }
  return start;
}
