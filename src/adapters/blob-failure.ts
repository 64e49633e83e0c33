import { addAbortSignal, PassThrough, type Readable } from 'node:stream';
import { AppError, messageOf } from '../core/errors.js';

/** Runs a call to a store; `translate` makes an AppError of its failure. A call that was aborted fails with the reason of the abort. */
export async function askStore<T>(call: () => Promise<T>, { translate, signal }: Asked): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw signal?.aborted ? signal.reason : await translate(error);
  }
}

interface Asked {
  translate(error: unknown): AppError | Promise<AppError>;
  signal?: AbortSignal | undefined;
}

export function storeUnavailable(store: string, error: unknown): AppError {
  return new AppError('blob_store_unavailable', `${store} does not do its part: ${messageOf(error)}`, { cause: error });
}

export function blobMissing(key: string, cause?: unknown): AppError {
  return new AppError('blob_missing', `there is no blob ${key}`, { cause });
}

export function blobExists(key: string, cause?: unknown): AppError {
  return new AppError('blob_exists', `there is a blob ${key} already`, { cause });
}

interface Watched {
  translate(error: unknown): AppError;
  signal?: AbortSignal | undefined;
}

/** The same bytes, with the store's errors in our words. Destroying the answer ends the source, and so does the signal. */
export function translateErrors(source: Readable, { translate, signal }: Watched): Readable {
  const passed = new PassThrough();
  // A store that fails before a reader listens must not end the process. The reader finds the stream destroyed.
  passed.on('error', () => undefined);
  source.once('error', (error) => passed.destroy(translate(error)));
  source.once('close', () => {
    if (!source.readableEnded) passed.destroy(translate(new Error('the store ended the stream early')));
  });
  passed.once('close', () => source.destroy());
  if (signal) addAbortSignal(signal, passed);
  return source.pipe(passed);
}
