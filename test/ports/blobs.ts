import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { BlobStore, ExpectedBlob, StoredBlob } from '../../src/ports/blob-store.js';

export function newOwner(): string {
  return randomUUID().replaceAll('-', '');
}

export function newKey(owner = newOwner()): string {
  return `use/${owner}/${randomUUID()}`;
}

export function putText(store: BlobStore, key: string, content: string): Promise<StoredBlob> {
  return store.put(key, Readable.from([content]), { sizeBytes: Buffer.byteLength(content) });
}

/** The keys of each page. */
export async function gatherKeys(store: BlobStore, prefix: string, limit: number): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | null = null;
  do {
    const { blobs, next }: Awaited<ReturnType<BlobStore['list']>> = await store.list({ prefix, cursor, limit });
    pages.push(blobs.map(({ key }) => key));
    cursor = next;
  } while (cursor !== null);
  return pages;
}

const CHUNK_BYTES = 64 * 1_024;

interface Ending {
  endAt: number;
  /** The source breaks with it. Null: the source stalls, and says so by the event `stalled`. */
  with: Error | null;
}

/** Bytes that differ from those of every other instance. They are made one chunk at a time from one buffer, so that making them takes
 *  no memory. */
export class GeneratedBytes {
  readonly expected: ExpectedBlob & { sha256: string };
  readonly #chunk = randomBytes(CHUNK_BYTES);

  constructor(readonly size: number) {
    const hash = createHash('sha256');
    for (let at = 0; at < size; at += CHUNK_BYTES) hash.update(this.#chunk.subarray(0, size - at));
    this.expected = { sizeBytes: size, sha256: hash.digest('hex') };
  }

  stream(ending?: Ending): Readable {
    let at = 0;
    const end = ending ? Math.floor(ending.endAt) : this.size;
    const chunk = this.#chunk;
    return new Readable({
      read() {
        if (at < end) {
          const part = chunk.subarray(0, end - at);
          at += part.length;
          this.push(part);
        } else if (!ending) this.push(null);
        else if (ending.with) this.destroy(ending.with);
        else this.emit('stalled');
      },
    });
  }
}

/** The most memory that buffers took while a stream flowed, beyond what they took before. */
export class PeakBuffers {
  readonly #before = this.#now();
  #peak = 0;

  #now(): number {
    const { external, arrayBuffers } = process.memoryUsage();
    return Math.max(external, arrayBuffers);
  }

  watch(stream: Readable): Readable {
    stream.on('data', () => (this.#peak = Math.max(this.#peak, this.#now())));
    stream.pause();
    return stream;
  }

  grownBytes(): number {
    return this.#peak - this.#before;
  }
}
