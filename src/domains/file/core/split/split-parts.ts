import type { Chunk, TextPart } from '../part.js';
import { cutText } from '../text/well-formed.js';
import { sectionsOf } from './sections.js';
import { splitTable } from './split-table.js';
import { type Piece, splitText } from './split-text.js';
import { type CountTokens, MAX_CHUNKS } from './tokenizer.js';

/** The chunks of all parts in their order. No chunk is empty, and none crosses from one page, sheet or heading to the next. */
export function splitParts(parts: readonly TextPart[], countTokens: CountTokens, maxChunks = MAX_CHUNKS): Chunk[] {
  const chunks: Chunk[] = [];
  for (const part of parts) {
    if (chunks.length >= maxChunks) break;
    for (const chunk of chunksOf(part, countTokens, maxChunks - chunks.length)) chunks.push(chunk);
  }
  return chunks.slice(0, maxChunks);
}

function chunksOf(part: TextPart, countTokens: CountTokens, maxPieces: number): Chunk[] {
  const page = part.page === undefined ? {} : { page: part.page };
  return [...titledPieces(part, countTokens, maxPieces)].flatMap(({ title, pieces }) =>
    pieces.map(({ text, tokens }) => ({ text, tokens, ...(title && { title }), ...page })),
  );
}

function* titledPieces(part: TextPart, countTokens: CountTokens, maxPieces: number): Generator<TitledPieces> {
  const { title = '' } = part;
  switch (part.kind) {
    case 'table':
      yield { title, pieces: splitTable(part, countTokens, maxPieces) };
      return;
    case 'markdown': {
      let left = maxPieces;
      for (const section of sectionsOf(part.text)) {
        if (left <= 0) return;
        const pieces = splitText(section.text, countTokens, { maxPieces: left });
        left -= pieces.length;
        yield { title: joinTitles(title, section.title), pieces };
      }
      return;
    }
    case 'text':
    case 'code':
      yield { title, pieces: splitText(part.text, countTokens, { maxPieces }) };
      return;
  }
}

interface TitledPieces {
  title: string;
  pieces: Piece[];
}

/** Shown above a result. */
const MAX_TITLE = 300;

function joinTitles(outer: string, inner: string): string {
  if (outer === '' || inner === '' || inner.startsWith(outer)) return inner || outer;
  return cutText(`${outer} > ${inner}`, MAX_TITLE);
}
