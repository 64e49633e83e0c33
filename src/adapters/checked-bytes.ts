import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { AppError } from '../core/errors.js';
import type { ExpectedBlob } from '../ports/blob-store.js';

/** Passes on the bytes of a blob, and fails with `blob_mismatch` when they are not the announced ones. The last chunk is held back
 *  until all of them were checked, so a store that waits for the announced size never has a whole blob that is wrong. The source
 *  stays open after a mismatch, because the request that it may belong to has still to be answered. */
export async function* checkBytes(
  bytes: Readable,
  { sizeBytes, sha256 }: ExpectedBlob,
  signal?: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  const stop = (): void => void bytes.destroy(reasonOf(signal));
  signal?.addEventListener('abort', stop);
  if (signal?.aborted) stop();
  const hash = createHash('sha256');
  let [seen, held]: [number, Buffer] = [0, Buffer.alloc(0)];
  try {
    for await (const chunk of bytes.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer | string>) {
      const next = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      if (next.length === 0) continue;
      seen += next.length;
      if (seen > sizeBytes) throw mismatch(`more than the ${sizeBytes} bytes that were announced have come`);
      hash.update(next);
      if (held.length > 0) yield held;
      held = next;
    }
    if (seen < sizeBytes) throw mismatch(`${seen} bytes have come, and ${sizeBytes} were announced`);
    if (sha256 !== undefined && hash.digest('hex') !== sha256) throw mismatch('the SHA-256 is not the announced one');
    if (held.length > 0) yield held;
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

/** Joins the bytes to blocks of one size, the last one excepted, so that no more than a block and a chunk are in memory. */
export async function* joinToBlocks(bytes: AsyncIterable<Buffer>, blockBytes: number): AsyncGenerator<Buffer> {
  let [parts, size]: [Buffer[], number] = [[], 0];
  for await (const chunk of bytes) {
    let rest = chunk;
    while (size + rest.length >= blockBytes) {
      const missing = blockBytes - size;
      yield Buffer.concat([...parts, rest.subarray(0, missing)]);
      [parts, size, rest] = [[], 0, rest.subarray(missing)];
    }
    if (rest.length > 0) parts.push(rest);
    size += rest.length;
  }
  if (size > 0) yield Buffer.concat(parts);
}

function mismatch(says: string): AppError {
  return new AppError('blob_mismatch', says);
}

function reasonOf(signal: AbortSignal | undefined): Error {
  return signal?.reason instanceof Error ? signal.reason : new DOMException('the caller has stopped it', 'AbortError');
}
