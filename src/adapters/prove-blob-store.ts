import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { AppError, isAppError } from '../core/errors.js';
import type { BlobStore } from '../ports/blob-store.js';

/** Stores a small blob, reads it, lists it and deletes it. Fails with the first promise that the store does not keep: a server may
 *  speak the protocol of S3 and overwrite blobs all the same. */
export async function proveBlobStore(store: BlobStore): Promise<void> {
  const key = `check/${randomUUID().replaceAll('-', '')}/${randomUUID()}`;
  const content = Buffer.from(key);
  const put = () => store.put(key, Readable.from([content]), { sizeBytes: content.length });
  await put();
  try {
    const read = await buffer(await store.get(key));
    assertKept(read.equals(content), 'it gave other bytes than it was given');
    const { blobs } = await store.list({ prefix: key, cursor: null, limit: 1 });
    assertKept(blobs[0]?.key === key, 'it does not list a blob that it has');
    const again = await put().catch((error: unknown) => error);
    assertKept(isAppError(again) && again.code === 'blob_exists', 'it does not refuse to overwrite a blob');
  } finally {
    await store.delete(key);
  }
  assertKept((await store.find(key)) === null, 'it has a blob that was deleted');
}

function assertKept(isKept: boolean, says: string): void {
  if (!isKept) throw new AppError('blob_store_unavailable', `the store is not fit for use: ${says}`);
}
