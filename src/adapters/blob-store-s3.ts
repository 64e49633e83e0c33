import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { assertBlobKey, assertBlobPrefix, isBlobKey } from '../core/blob-key.js';
import { AppError } from '../core/errors.js';
import type { BlobPage, BlobStore, ExpectedBlob, SignedPut, StoredBlob } from '../ports/blob-store.js';
import { askStore, blobExists, blobMissing, storeUnavailable, translateErrors } from './blob-failure.js';
import { checkBytes, joinToBlocks } from './checked-bytes.js';
import { proveBlobStore } from './prove-blob-store.js';

export interface S3Options {
  bucket: string;
  region: string;
  /** Undefined: that of AWS. */
  endpoint?: string | undefined;
  /** Undefined: the SDK's own search, which knows environments, profiles and the roles of machines. */
  keys?: { accessKeyId: string; secretAccessKey: string } | undefined;
  /** For servers that do not have a host name for each bucket. */
  forcePathStyle: boolean;
}

/** A store that is there takes a connection in milliseconds. */
const CONNECT_WITHIN_MS = 5_000;

/** A connection that moves no byte for a minute is dead; AWS itself gives up earlier. */
const SILENT_FOR_MS = 60_000;

/** A blob of this size is stored by one request. A larger one is sent in parts of it, of which two are in memory. S3 takes parts of 5 MB
 *  and more, and 10,000 of them, so a blob may have 80 GB. */
const PART_BYTES = 8 * 1_024 ** 2;

/** AWS signs nothing for longer. */
const LONGEST_SIGNED_S = 7 * 24 * 3_600;

/** Keeps blobs in a bucket of S3, or of a server that speaks its protocol. */
export function createS3BlobStore({ bucket, region, endpoint, keys, forcePathStyle }: S3Options): BlobStore {
  const client = new S3Client({
    ...{ region, forcePathStyle },
    ...(endpoint !== undefined && { endpoint }),
    ...(keys && { credentials: keys }),
    // Otherwise the SDK adds a sum of its own choice, which many servers do not know and a signed request would have to carry.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECT_WITHIN_MS, socketTimeout: SILENT_FOR_MS },
  });
  const translate = (error: unknown): AppError => storeUnavailable(`the bucket ${bucket}`, error);
  const ask = <T>(call: () => Promise<T>): Promise<T> => askStore(call, { translate });
  const at = (key: string): { Bucket: string; Key: string } => ({ Bucket: bucket, Key: key });

  async function put(key: string, bytes: Readable, expected: ExpectedBlob, signal?: AbortSignal): Promise<StoredBlob> {
    assertBlobKey(key);
    const checked = checkBytes(bytes, expected, signal);
    const askPut = <T>(call: () => Promise<T>): Promise<T> =>
      askStore(call, { translate: (error) => refusalOf(key, error), signal });
    const stop = signal && { abortSignal: signal };
    if (expected.sizeBytes <= PART_BYTES) {
      const command = new PutObjectCommand({ ...at(key), ...promisesOf(expected), Body: await buffer(checked) });
      await askPut(() => client.send(command, stop));
    } else {
      await inParts(key, async (UploadId) => {
        const parts: CompletedPart[] = [];
        for await (const Body of joinToBlocks(checked, PART_BYTES)) {
          const PartNumber = parts.length + 1;
          const part = new UploadPartCommand({ ...at(key), UploadId, PartNumber, Body });
          const { ETag } = await askPut(() => client.send(part, stop));
          parts.push({ PartNumber, ETag });
        }
        const whole = { ...at(key), UploadId, MultipartUpload: { Parts: parts }, IfNoneMatch: '*' };
        await askPut(() => client.send(new CompleteMultipartUploadCommand(whole), stop));
      });
    }
    return (await find(key)) ?? { key, sizeBytes: expected.sizeBytes, storedAt: new Date() };
  }

  /** Parts are no blob before they are completed. A stream as the body of one request would need no parts, but some servers take the bytes
   *  that came before a line was cut for the whole. */
  async function inParts(key: string, send: (uploadId: string | undefined) => Promise<void>): Promise<void> {
    const { UploadId } = await ask(() => client.send(new CreateMultipartUploadCommand(at(key))));
    try {
      await send(UploadId);
    } catch (error) {
      await dropParts(key, UploadId);
      throw error;
    }
  }

  /** Parts that cannot be dropped now cost storage until the bucket's own rule removes them (docs/operations.md). */
  async function dropParts(key: string, UploadId: string | undefined): Promise<void> {
    await client.send(new AbortMultipartUploadCommand({ ...at(key), UploadId })).catch(() => undefined);
  }

  /** 412: there was a blob before. 409: another put or a delete came between, and only a look can tell which. */
  async function refusalOf(key: string, error: unknown): Promise<AppError> {
    const status = statusOf(error);
    if (status === 412 || (status === 409 && (await find(key)))) return blobExists(key, error);
    return isBadSum(error)
      ? new AppError('blob_mismatch', 'the store got other bytes', { cause: error })
      : translate(error);
  }

  async function find(key: string): Promise<StoredBlob | null> {
    assertBlobKey(key);
    try {
      const { ContentLength = 0, LastModified } = await client.send(new HeadObjectCommand(at(key)));
      return { key, sizeBytes: ContentLength, storedAt: LastModified ?? new Date(0) };
    } catch (error) {
      if (statusOf(error) !== 404) throw translate(error);
    }
    // The answer is the same when the bucket is missing, and that must not look like a missing blob.
    await ask(() => client.send(new HeadBucketCommand({ Bucket: bucket })));
    return null;
  }

  async function list({ prefix, cursor, limit }: Parameters<BlobStore['list']>[0]): Promise<BlobPage> {
    assertBlobPrefix(prefix);
    const after = cursor === null ? {} : { StartAfter: cursor };
    const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, MaxKeys: limit, ...after });
    const { Contents = [], IsTruncated } = await ask(() => client.send(command));
    const blobs = Contents.flatMap(({ Key: key = '', Size: sizeBytes = 0, LastModified: storedAt = new Date(0) }) =>
      isBlobKey(key) ? [{ key, sizeBytes, storedAt }] : [],
    );
    return { blobs, next: IsTruncated ? (Contents.at(-1)?.Key ?? null) : null };
  }

  async function signPut(key: string, expected: ExpectedBlob, expiresAt: Date): Promise<SignedPut> {
    assertBlobKey(key);
    const seconds = Math.floor((expiresAt.getTime() - Date.now()) / 1_000);
    if (seconds < 1) throw new AppError('invalid_input', 'a request cannot be signed for a time that has passed');
    const { sha256 } = expected;
    const headers = {
      'content-length': String(expected.sizeBytes),
      'if-none-match': '*',
      ...(sha256 !== undefined && { 'x-amz-checksum-sha256': base64Of(sha256) }),
    };
    const command = new PutObjectCommand({ ...at(key), ...promisesOf(expected) });
    const url = await ask(() =>
      getSignedUrl(client, command, {
        expiresIn: Math.min(seconds, LONGEST_SIGNED_S),
        // By default the sum is moved into the query, where the store ignores it, and only the host is signed.
        unhoistableHeaders: new Set(['x-amz-checksum-sha256']),
        signableHeaders: new Set(['host', ...Object.keys(headers)]),
      }),
    );
    return { url, headers };
  }

  const store: BlobStore = {
    kind: 's3',
    put,
    async get(key, { range, signal } = {}) {
      assertBlobKey(key);
      const part = range && { Range: `bytes=${range.from}-${range.to}` };
      try {
        const command = new GetObjectCommand({ ...at(key), ...part });
        const { Body } = await client.send(command, { ...(signal && { abortSignal: signal }) });
        return translateErrors(Body as Readable, { translate, signal });
      } catch (error) {
        if (statusOf(error) === 416) return Readable.from([]);
        throw (error as Error).name === 'NoSuchKey' ? blobMissing(key, error) : translate(error);
      }
    },
    find,
    list,
    async delete(key) {
      assertBlobKey(key);
      await ask(() => client.send(new DeleteObjectCommand(at(key))));
    },
    signPut,
    check: () => proveBlobStore(store),
    close: () => Promise.resolve(client.destroy()),
  };
  return store;
}

/** The headers by which the store enforces what was announced, and that it replaces no blob. */
function promisesOf({ sizeBytes, sha256 }: ExpectedBlob) {
  return {
    ContentLength: sizeBytes,
    IfNoneMatch: '*',
    ...(sha256 !== undefined && { ChecksumSHA256: base64Of(sha256) }),
  };
}

function base64Of(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64');
}

function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}

function isBadSum(error: unknown): boolean {
  const names = ['BadDigest', 'InvalidDigest', 'XAmzContentChecksumMismatch', 'XAmzContentSHA256Mismatch'];
  return error instanceof S3ServiceException && names.includes(error.name);
}
