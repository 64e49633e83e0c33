import { AppError } from '../../../../core/errors.js';
import type { BlobStore } from '../../../../ports/blob-store.js';

/** Stores answer within seconds. A call that takes longer hangs, and must become an error before the page counts as silent. */
const CALL_MS = 60_000;

export type CleanedStore = Pick<BlobStore, 'find' | 'list' | 'delete'>;

/** The same store, whose calls fail with `blob_store_unavailable` when they take too long. */
export function limitBlobCalls(store: CleanedStore, limitMs = CALL_MS): CleanedStore {
  return {
    find: (key) => answerWithin(limitMs, store.find(key)),
    list: (page) => answerWithin(limitMs, store.list(page)),
    delete: (key) => answerWithin(limitMs, store.delete(key)),
  };
}

async function answerWithin<T>(limitMs: number, call: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new AppError('blob_store_unavailable', `the blob store did not answer within ${limitMs} ms`));
    }, limitMs);
  });
  try {
    return await Promise.race([call, limit]);
  } finally {
    clearTimeout(timer);
  }
}
