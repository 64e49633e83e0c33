import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { createDiskBlobStore } from '../../src/adapters/blob-store-disk.js';
import { proveBlobStore } from '../../src/adapters/prove-blob-store.js';
import type { BlobStore } from '../../src/ports/blob-store.js';
import { tempDir } from '../start/temp-dir.js';

async function open(breaking: (sound: BlobStore) => Partial<BlobStore>): Promise<BlobStore> {
  const sound = await createDiskBlobStore({ folder: tempDir() });
  return { ...sound, ...breaking(sound) };
}

it('finds nothing wrong with a sound store, time and again', async () => {
  const store = await open(() => ({}));

  await proveBlobStore(store);
  await proveBlobStore(store);
});

const BROKEN: [string, string, (sound: BlobStore) => Partial<BlobStore>][] = [
  ['gives other bytes', 'it gave other bytes than it was given', () => ({ get: async () => Readable.from(['other']) })],
  ['lists nothing', 'it does not list a blob that it has', () => ({ list: async () => ({ blobs: [], next: null }) })],
  [
    'overwrites blobs',
    'it does not refuse to overwrite a blob',
    (sound) => ({
      async put(key, ...rest) {
        await sound.delete(key);
        return sound.put(key, ...rest);
      },
    }),
  ],
  ['deletes nothing', 'it has a blob that was deleted', () => ({ delete: async () => undefined })],
];

it.each(BROKEN)('refuses a store that %s', async (_, why, breaking) => {
  await expect(proveBlobStore(await open(breaking))).rejects.toMatchObject({
    code: 'blob_store_unavailable',
    message: `the store is not fit for use: ${why}`,
  });
});
