import type { Sql } from '../../../ports/sql.js';
import type { Stage } from '../../../ports/stage.js';
import { MAX_CHUNKS } from '../core/split/tokenizer.js';
import { replaceChunks } from '../db/chunks.js';
import { findTextParts } from '../db/texts.js';
import type { Extractor } from '../ports/extractor.js';
import type { file } from '../table.js';

export interface ChunkDeps {
  reads: Sql;
  extractor: Pick<Extractor, 'split'>;
}

/** Cuts the text of a file into the pieces that a search finds. A file without text has none. */
export function chunkStage({ reads, extractor }: ChunkDeps): Stage<typeof file, 'chunk'> {
  return async ({ item, signal, progress }) => {
    const parts = await findTextParts(reads, item.id);
    if (!parts) throw new Error(`file ${item.id} has no extracted text`);
    progress({ parts: parts.length });
    const chunks = parts.length === 0 ? [] : await extractor.split(parts, signal);
    return {
      outcome: 'done',
      note: { chunks: chunks.length, isCut: chunks.length === MAX_CHUNKS },
      save: (transaction) => replaceChunks(transaction, { id: item.id, owner: item.owner }, chunks),
    };
  };
}
