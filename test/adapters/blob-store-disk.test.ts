import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDiskBlobStore } from '../../src/adapters/blob-store-disk.js';
import { blobStoreContract, type OpenedStore } from '../ports/blob-store-contract.js';

async function open(): Promise<OpenedStore> {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-test-'));
  return {
    store: await createDiskBlobStore({ folder }),
    async away() {
      const gone = mkdtempSync(join(tmpdir(), 'unstuck-test-'));
      const store = await createDiskBlobStore({ folder: gone });
      rmSync(gone, { recursive: true });
      return store;
    },
    async close() {
      rmSync(folder, { recursive: true });
    },
  };
}

blobStoreContract('a folder', open, { expired: null });
