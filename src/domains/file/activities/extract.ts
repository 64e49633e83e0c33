import type { Readable } from 'node:stream';
import { AppError } from '../../../core/errors.js';
import type { OpenBlobStore } from '../../../ports/blob-store.js';
import type { Sql } from '../../../ports/sql.js';
import type { Stage } from '../../../ports/stage.js';
import { charsIn, findStoredFile, saveText } from '../db/texts.js';
import type { ContentOnDisk, Extractor } from '../ports/extractor.js';
import type { file } from '../table.js';

export interface ExtractDeps {
  reads: Sql;
  blobs: OpenBlobStore;
  extractor: Extractor;
  /** Writes the bytes to a temporary file, which is removed when the work has ended, however it ended. */
  withContent<T>(content: StreamedContent, work: (content: ContentOnDisk) => Promise<T>): Promise<T>;
}

export interface StreamedContent {
  name: string;
  sizeBytes: number;
  sha256: string | null;
  bytes: Readable;
  signal: AbortSignal;
}

/** Reads what is in a file. A file without text is read all the same. */
export function extractStage({ reads, blobs, extractor, withContent }: ExtractDeps): Stage<typeof file, 'extract'> {
  return async ({ item, signal, progress }) => {
    const stored = await findStoredFile(reads, item.id);
    if (!stored) throw new AppError('bad_input', 'The file was deleted before it was read.');
    const { name, sizeBytes, sha256, blobKey } = stored;
    progress({ fetchesBytes: sizeBytes });
    const bytes = await (await blobs()).get(blobKey, { signal });
    const read = await withContent({ name, sizeBytes, sha256, bytes, signal }, (content) =>
      extractor.extract(content, signal, progress),
    );
    const { format, pages = null, isRecognized, isTruncated } = read;
    return {
      outcome: 'done',
      note: { format, pages, chars: charsIn(read.parts), isRecognized, isTruncated },
      save: (transaction) => saveText(transaction, item.id, read),
    };
  };
}
