import { createHash } from 'node:crypto';
import type { BlobStore, ExpectedBlob, StoredBlob } from './blob-store.js';

/** `other`: a blob was there with another size or checksum, and was deleted, so that the right one can still come. */
export type VerifiedBlob = { is: 'there'; blob: StoredBlob } | { is: 'missing' } | { is: 'other'; why: string };

/** Finds a blob that may have come by a signed request, and compares it with what was announced. The bytes are read only where the store
 *  has not checked them itself. */
export async function verifyBlob(
  store: BlobStore,
  key: string,
  expected: ExpectedBlob,
  signal?: AbortSignal,
): Promise<VerifiedBlob> {
  const blob = await store.find(key);
  if (!blob) return { is: 'missing' };
  const why = await differenceOf(store, { blob, expected, signal });
  if (why === null) return { is: 'there', blob };
  await store.delete(key);
  return { is: 'other', why };
}

interface Compared {
  blob: StoredBlob;
  expected: ExpectedBlob;
  signal: AbortSignal | undefined;
}

async function differenceOf(store: BlobStore, { blob, expected, signal }: Compared): Promise<string | null> {
  const { sizeBytes, sha256 } = expected;
  if (blob.sizeBytes !== sizeBytes) return `${blob.sizeBytes} bytes have come, and ${sizeBytes} were announced`;
  if (sha256 === undefined || !store.signsOnlyTheKey) return null;
  const hash = createHash('sha256');
  for await (const chunk of await store.get(blob.key, { ...(signal && { signal }) })) hash.update(chunk as Buffer);
  return hash.digest('hex') === sha256 ? null : 'the SHA-256 is not the announced one';
}
