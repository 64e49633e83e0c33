import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createDiskBlobStore } from '../../src/adapters/blob-store-disk.js';
import type { BlobStore } from '../../src/ports/blob-store.js';
import { verifyBlob } from '../../src/ports/verify-blob.js';
import { tempDir } from '../start/temp-dir.js';
import { newKey, putText } from './blobs.js';

const sumOf = (content: string): string => createHash('sha256').update(content).digest('hex');

async function open(more: Partial<BlobStore>): Promise<{ store: BlobStore; reads: string[] }> {
  const disk = await createDiskBlobStore({ folder: tempDir() });
  const reads: string[] = [];
  const get: BlobStore['get'] = (key, options) => {
    reads.push(key);
    return disk.get(key, options);
  };
  return { store: { ...disk, get, ...more }, reads };
}

describe('a blob that came by a signed request', () => {
  it('is missing as long as it has not come', async () => {
    const { store } = await open({});

    expect(await verifyBlob(store, newKey(), { sizeBytes: 1 })).toEqual({ is: 'missing' });
  });

  it('is deleted when its size is another than announced', async () => {
    const { store } = await open({});
    const key = newKey();
    await putText(store, key, 'four');

    const verified = await verifyBlob(store, key, { sizeBytes: 5 });

    expect(verified).toEqual({ is: 'other', why: '4 bytes have come, and 5 were announced' });
    expect(await store.find(key)).toBeNull();
  });

  it('is read where its store signs only the key, and deleted when its checksum is another', async () => {
    const { store, reads } = await open({ signsOnlyTheKey: true });
    const [right, wrong] = [newKey(), newKey()];
    await Promise.all([putText(store, right, 'four'), putText(store, wrong, 'four')]);

    expect(await verifyBlob(store, right, { sizeBytes: 4, sha256: sumOf('four') })).toMatchObject({ is: 'there' });
    expect(await verifyBlob(store, wrong, { sizeBytes: 4, sha256: sumOf('five') })).toMatchObject({ is: 'other' });

    expect(reads).toEqual([right, wrong]);
    expect(await store.find(right)).not.toBeNull();
    expect(await store.find(wrong)).toBeNull();
  });

  it('is not read again where its store has checked it', async () => {
    const { store, reads } = await open({});
    const key = newKey();
    await putText(store, key, 'four');

    expect(await verifyBlob(store, key, { sizeBytes: 4, sha256: sumOf('four') })).toMatchObject({ is: 'there' });

    expect(reads).toEqual([]);
  });
});
