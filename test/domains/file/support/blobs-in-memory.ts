import { Readable } from 'node:stream';
import { AppError } from '../../../../src/core/errors.js';
import type { BlobStore } from '../../../../src/ports/blob-store.js';

/** A store that can be read alone. `opened` are the streams that it gave. */
export function blobsInMemory(blobs: ReadonlyMap<string, Buffer>) {
  const opened: Readable[] = [];
  const unasked = () => Promise.reject(new Error('no test asks for this'));
  const store: BlobStore = {
    kind: 'disk',
    get(key) {
      const bytes = blobs.get(key);
      if (!bytes) return Promise.reject(new AppError('not_found', `there is no blob ${key}`));
      const stream = Readable.from(piecesOf(bytes));
      opened.push(stream);
      return Promise.resolve(stream);
    },
    ...{ put: unasked, find: unasked, list: unasked, delete: unasked, signPut: unasked, check: unasked },
    close: () => Promise.resolve(),
  };
  return { open: () => Promise.resolve(store), opened };
}

function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}
