import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type FolderKind, removeAbandoned, withTemporaryFolder } from '../../../../adapters/temporary-folder.js';
import { AppError } from '../../../../core/errors.js';
import { FILE_CODES } from '../../errors.js';
import type { ContentOnDisk } from '../../ports/extractor.js';

/** An hour is longer than the extract stage may take. */
const CONTENT: FolderKind = { prefix: 'unstuck-content-', abandonedAfterMs: 3_600_000 };

export interface StreamedContent {
  name: string;
  sizeBytes: number;
  /** As announced. Null: its owner did not say. */
  sha256: string | null;
  bytes: Readable;
  signal: AbortSignal;
}

/** Writes contents to temporary files, with the memory that a stream takes. The name of the content is not used on the disk. */
export function createWithContent(temporaryFolder: string) {
  let ready: Promise<void> | undefined;

  /** Runs once, and again after a failure, because an operator may have put the fault right. */
  async function prepare(): Promise<void> {
    ready ??= mkdir(temporaryFolder, { recursive: true }).then(() =>
      removeAbandoned(temporaryFolder, Date.now(), CONTENT),
    );
    await ready.catch((error: unknown) => {
      ready = undefined;
      throw error;
    });
  }

  return async <T>(content: StreamedContent, work: (content: ContentOnDisk) => Promise<T>): Promise<T> => {
    const { name, bytes, signal } = content;
    try {
      await prepare();
      return await withTemporaryFolder(
        temporaryFolder,
        async (folder) => {
          const path = join(folder, 'content');
          await pipeline(bytes, compareBytes(content), createWriteStream(path, { mode: 0o600 }), { signal });
          return await work({ path, name });
        },
        CONTENT,
      );
    } finally {
      bytes.destroy();
    }
  };
}

/** A store may hold other bytes than were announced, because not every store checks those that do not pass through us, and a connection
 *  may end early. */
function compareBytes({ sizeBytes, sha256 }: Pick<StreamedContent, 'sizeBytes' | 'sha256'>): Transform {
  let size = 0;
  const hash = sha256 === null ? null : createHash('sha256');
  const unlikeSize = (): AppError =>
    new AppError(FILE_CODES.extraction_failed, `the store gave ${size} bytes of a file that has ${sizeBytes}`);
  return new Transform({
    transform(chunk: Buffer, _, done) {
      size += chunk.length;
      hash?.update(chunk);
      if (size > sizeBytes) done(unlikeSize());
      else done(null, chunk);
    },
    flush(done) {
      if (size !== sizeBytes) done(unlikeSize());
      else if (hash && hash.digest('hex') !== sha256) done(unlikeSum());
      else done();
    },
  });
}

function unlikeSum(): AppError {
  return new AppError('bad_input', 'The stored bytes have another SHA-256 than was announced. Upload the file again.');
}
