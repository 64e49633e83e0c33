import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { AppError } from '../core/errors.js';
import type { BlobStore } from '../ports/blob-store.js';

/** Stores a small blob, finds it, reads it, lists it and deletes it. Fails with the first of these that the store refuses. */
export async function proveBlobStore(store: BlobStore): Promise<void> {
  const key = `check/${randomUUID().replaceAll('-', '')}/${randomUUID()}`;
  const content = Buffer.from(key);
  await store.put(key, Readable.from([content]), { sizeBytes: content.length });
  try {
    const read = await buffer(await store.get(key));
    if (!read.equals(content))
      throw new AppError('blob_store_unavailable', 'the store gave other bytes than it was given');
    const { blobs } = await store.list({ prefix: key, cursor: null, limit: 1 });
    if (blobs.length === 0) throw new AppError('blob_store_unavailable', 'the store does not list a blob that it has');
  } finally {
    await store.delete(key);
  }
  if (await store.find(key)) throw new AppError('blob_store_unavailable', 'the store has a blob that was deleted');
}
