import type { Readable } from 'node:stream';

/** Keeps large contents under keys of three parts (core/blob-key.ts). Every adapter keeps the promises of test/ports/blob-store-contract.ts. A store that does not
 *  answer fails with AppError `blob_store_unavailable`, which is worth another try. */
export interface BlobStore {
  /** Which adapter it is, for health and the doctor. */
  kind: 'disk' | 'azure' | 's3';
  /** Set where the store cannot enforce the size and the checksum of a signed request. Such a blob must be compared with the promise
   *  once it is there: `verifyBlob` of ports/verify-blob.ts does that for every store. */
  readonly signsOnlyTheKey?: true;
  /** Stores the bytes as they come, with bounded memory, if no blob has the key. The blob is there whole or not at all. Fails with
   *  `blob_exists` when the key is taken, and with `blob_mismatch` when the size or the checksum is another than was announced. An
   *  error of the source is thrown as it is, and so is the reason of an abort, which also destroys the source. */
  put(key: string, bytes: Readable, expected: ExpectedBlob, signal?: AbortSignal): Promise<StoredBlob>;
  /** The bytes, or a part of them. A part that begins behind the last byte is empty. Fails with `blob_missing`. Destroy the stream to
   *  stop early. */
  get(key: string, options?: { range?: ByteRange; signal?: AbortSignal }): Promise<Readable>;
  /** Null: there is no complete blob under the key. */
  find(key: string): Promise<StoredBlob | null>;
  /** A page of blobs in the order of their keys. `next` is the cursor of the page behind it; null: this is the last page. A page may have
   *  fewer blobs than its limit. */
  list(page: { prefix: string; cursor: string | null; limit: number }): Promise<BlobPage>;
  /** Of no effect when there is no such blob. */
  delete(key: string): Promise<void>;
  /** A PUT request by which anybody who has it may store this one blob until the time, without passing the bytes through us. It replaces
   *  no blob. Size and checksum are enforced, except where `signsOnlyTheKey` says that they are not. Null: this store has no such
   *  requests, so the bytes come through the API. */
  signPut(key: string, expected: ExpectedBlob, expiresAt: Date): Promise<SignedPut | null>;
  /** Fails when blobs cannot be written, read and deleted; for the doctor. */
  check(): Promise<void>;
  close(): Promise<void>;
}

export interface ExpectedBlob {
  sizeBytes: number;
  /** 64 small hexadecimal digits. */
  sha256?: string | undefined;
}

export interface StoredBlob {
  key: string;
  sizeBytes: number;
  /** When the store had the whole blob, by the store's clock. */
  storedAt: Date;
}

/** From the first byte to the last, both counted from 0 and both included. */
export interface ByteRange {
  from: number;
  to: number;
}

export interface BlobPage {
  blobs: StoredBlob[];
  next: string | null;
}

export interface SignedPut {
  url: string;
  /** The request must carry these. A browser sets `content-length` by itself, from the body. */
  headers: Readonly<Record<string, string>>;
}

/** Opens the configured store once in each process, when it is first needed. */
export type OpenBlobStore = () => Promise<BlobStore>;
