import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { AppError } from '../../../../src/core/errors.js';
import type { BlobStore, SignedPut, StoredBlob } from '../../../../src/ports/blob-store.js';

export interface MemoryBlobs extends BlobStore {
  /** The whole blobs by key. */
  kept: Map<string, Buffer>;
  /** Whether it answers from now on. */
  mood: 'well' | 'away';
  /** Signs requests of its own, as a store with an address of its own does. */
  signs: boolean;
  /** The largest number of bytes that a put held before it stopped. */
  received: number;
  /** Called before a blob becomes visible. */
  beforeKeep: (key: string) => Promise<void>;
}

/** A blob store that keeps the port's promises in memory. */
export function createMemoryBlobs(): MemoryBlobs {
  const stored = new Map<string, StoredBlob>();
  const blobs: MemoryBlobs = {
    kind: 'disk',
    kept: new Map(),
    mood: 'well',
    signs: false,
    received: 0,
    beforeKeep: () => Promise.resolve(),
    async put(key, bytes, expected) {
      answer();
      if (blobs.kept.has(key)) throw new AppError('blob_exists', `there is a blob ${key}`);
      const parts: Buffer[] = [];
      let size = 0;
      blobs.received = 0;
      for await (const part of bytes as AsyncIterable<Buffer>) {
        parts.push(part);
        size += part.length;
        blobs.received = size;
        if (size > expected.sizeBytes) throw new AppError('blob_mismatch', 'more bytes than announced');
      }
      if (size !== expected.sizeBytes) throw new AppError('blob_mismatch', 'fewer bytes than announced');
      const whole = Buffer.concat(parts);
      const sum = createHash('sha256').update(whole).digest('hex');
      if (expected.sha256 !== undefined && sum !== expected.sha256) {
        throw new AppError('blob_mismatch', 'another checksum than announced');
      }
      await blobs.beforeKeep(key);
      if (blobs.kept.has(key)) throw new AppError('blob_exists', `there is a blob ${key}`);
      blobs.kept.set(key, whole);
      const blob = { key, sizeBytes: whole.length, storedAt: new Date() };
      stored.set(key, blob);
      return blob;
    },
    async get(key) {
      answer();
      const whole = blobs.kept.get(key);
      if (!whole) throw new AppError('blob_missing', `there is no blob ${key}`);
      return Readable.from([whole]);
    },
    async find(key) {
      answer();
      const whole = blobs.kept.get(key);
      return whole ? (stored.get(key) ?? { key, sizeBytes: whole.length, storedAt: new Date() }) : null;
    },
    async list() {
      answer();
      return { blobs: [...stored.values()], next: null };
    },
    async delete(key) {
      answer();
      blobs.kept.delete(key);
      stored.delete(key);
    },
    async signPut(key): Promise<SignedPut | null> {
      return blobs.signs ? { url: `https://store.example/${key}?signed`, headers: { 'x-signed': 'yes' } } : null;
    },
    async check() {
      answer();
    },
    close: () => Promise.resolve(),
  };
  function answer(): void {
    if (blobs.mood === 'away') throw new AppError('blob_store_unavailable', 'the store does not answer');
  }
  return blobs;
}
