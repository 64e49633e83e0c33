import { Readable } from 'node:stream';
import { AppError } from '../../../../src/core/errors.js';
import type { BlobStore, StoredBlob } from '../../../../src/ports/blob-store.js';

export interface MemoryBlobStore extends BlobStore {
  /** A blob of so many bytes, stored so many hours ago. */
  add(key: string, sizeBytes?: number, hoursAgo?: number): void;
  keys(): string[];
  /** Keys whose deletion fails. */
  refused: Set<string>;
  /** The most blobs that one page had. */
  largestPage: number;
  /** Whether no call is answered. */
  isAway: boolean;
  /** Called before each page is answered. */
  onList: (page: number) => Promise<void> | void;
  /** Called before each deletion. */
  onDelete: (key: string) => Promise<void> | void;
}

/** The port, in memory: keys and sizes without bytes. */
export function createMemoryBlobStore(): MemoryBlobStore {
  const blobs = new Map<string, StoredBlob>();
  let pages = 0;
  function assertThere(): void {
    if (store.isAway) throw new AppError('blob_store_unavailable', 'the blob store is away');
  }
  const store: MemoryBlobStore = {
    kind: 'disk',
    refused: new Set(),
    largestPage: 0,
    isAway: false,
    onList: () => undefined,
    onDelete: () => undefined,
    add(key, sizeBytes = 10, hoursAgo = 48) {
      blobs.set(key, { key, sizeBytes, storedAt: new Date(Date.now() - hoursAgo * 3_600_000) });
    },
    keys: () => [...blobs.keys()].sort(),
    async put(key, _bytes, { sizeBytes }) {
      const blob = { key, sizeBytes, storedAt: new Date() };
      blobs.set(key, blob);
      return blob;
    },
    get: async () => Readable.from([]),
    async find(key) {
      assertThere();
      return blobs.get(key) ?? null;
    },
    async list({ prefix, cursor, limit }) {
      assertThere();
      await store.onList((pages += 1));
      const behind = [...blobs.values()]
        .filter(({ key }) => key.startsWith(prefix) && (cursor === null || key > cursor))
        .sort((a, b) => (a.key < b.key ? -1 : 1));
      const page = behind.slice(0, limit);
      store.largestPage = Math.max(store.largestPage, page.length);
      return { blobs: page, next: behind.length > limit ? (page.at(-1)?.key ?? null) : null };
    },
    async delete(key) {
      assertThere();
      await store.onDelete(key);
      if (store.refused.has(key)) throw new AppError('blob_store_unavailable', 'the store refused');
      blobs.delete(key);
    },
    signPut: async () => null,
    check: async () => assertThere(),
    close: async () => undefined,
  };
  return store;
}
