import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  BlobSASPermissions,
  BlobServiceClient,
  type BlockBlobClient,
  RestError,
  SASProtocol,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { assertBlobKey, assertBlobPrefix, isBlobKey } from '../core/blob-key.js';
import type { AppError } from '../core/errors.js';
import type { BlobPage, BlobStore, ExpectedBlob, SignedPut, StoredBlob } from '../ports/blob-store.js';
import { askStore, blobExists, blobMissing, storeUnavailable, translateErrors } from './blob-failure.js';
import { checkBytes, joinToBlocks } from './checked-bytes.js';
import { proveBlobStore } from './prove-blob-store.js';

export interface AzureOptions {
  connectionString: string;
  container: string;
}

/** A blob of this size is stored by one request. A larger one is sent in blocks of it, of which two are in memory. Azure takes 50,000
 *  blocks, so a blob may have 200 GB. */
const BLOCK_BYTES = 4 * 1_024 ** 2;

/** A store that is there takes a block within seconds. Three tries with these waits last as long as a change of servers in Azure. */
const RETRIES = { maxTries: 3, tryTimeoutInMs: 60_000, retryDelayInMs: 500, maxRetryDelayInMs: 5_000 };

const ABSENT = { ifNoneMatch: '*' };

/** Keeps blobs in a container of an Azure storage account. */
export function createAzureBlobStore({ connectionString, container: name }: AzureOptions): BlobStore {
  const service = BlobServiceClient.fromConnectionString(connectionString, { retryOptions: RETRIES });
  const container = service.getContainerClient(name);
  const translate = (error: unknown): AppError => storeUnavailable(`the container ${name}`, error);
  const ask = <T>(call: () => Promise<T>): Promise<T> => askStore(call, { translate });

  function blobAt(key: string): BlockBlobClient {
    assertBlobKey(key);
    return container.getBlockBlobClient(key);
  }

  async function put(key: string, bytes: Readable, expected: ExpectedBlob, signal?: AbortSignal): Promise<StoredBlob> {
    const blob = blobAt(key);
    const checked = checkBytes(bytes, expected, signal);
    const askPut = <T>(call: () => Promise<T>): Promise<T> =>
      askStore(call, { translate: (error) => refusalOf(key, error), signal });
    const stop = signal ? { abortSignal: signal } : {};
    if (expected.sizeBytes <= BLOCK_BYTES) {
      const content = await buffer(checked);
      await askPut(() => blob.upload(content, content.length, { conditions: ABSENT, ...stop }));
    } else {
      // Blocks that never become a blob are shown by no list, and Azure deletes them after a week.
      const ids: string[] = [];
      for await (const block of joinToBlocks(checked, BLOCK_BYTES)) {
        // All blocks of a blob must have ids of one length, those of another put too.
        const id = Buffer.from(randomUUID()).toString('base64');
        await askPut(() => blob.stageBlock(id, block, block.length, stop));
        ids.push(id);
      }
      await askPut(() => blob.commitBlockList(ids, { conditions: ABSENT, ...stop }));
    }
    return (await find(key)) ?? { key, sizeBytes: expected.sizeBytes, storedAt: new Date() };
  }

  /** The blob that another put commits first takes our blocks with it, and then our list of blocks is refused. */
  async function refusalOf(key: string, error: unknown): Promise<AppError> {
    const isTaken = codeOf(error) === 'BlobAlreadyExists' || statusOf(error) === 412;
    const isOverrun = codeOf(error) === 'InvalidBlockList' && (await find(key)) !== null;
    return isTaken || isOverrun ? blobExists(key, error) : translate(error);
  }

  async function find(key: string): Promise<StoredBlob | null> {
    const blob = blobAt(key);
    try {
      const { contentLength = 0, lastModified = new Date(0) } = await blob.getProperties();
      return { key, sizeBytes: contentLength, storedAt: lastModified };
    } catch (error) {
      if (!isMissing(error)) throw translate(error);
    }
    // The answer may be the same when the container is missing, and that must not look like a missing blob.
    await list({ prefix: key, cursor: null, limit: 1 });
    return null;
  }

  async function list({ prefix, cursor, limit }: Parameters<BlobStore['list']>[0]): Promise<BlobPage> {
    assertBlobPrefix(prefix);
    const from = { maxPageSize: limit, ...(cursor !== null && { continuationToken: cursor }) };
    const page = await ask(() => container.listBlobsFlat({ prefix }).byPage(from).next());
    if (page.done) return { blobs: [], next: null };
    const { segment, continuationToken } = page.value;
    const blobs = segment.blobItems.flatMap(({ name: key, properties }) =>
      isBlobKey(key) ? [{ key, sizeBytes: properties.contentLength ?? 0, storedAt: properties.lastModified }] : [],
    );
    // At the end it is an empty text.
    return { blobs, next: continuationToken || null };
  }

  /** Azure signs neither the size nor the checksum. The permission is to create, so the request replaces no blob. */
  async function signPut(key: string, { sizeBytes }: ExpectedBlob, expiresOn: Date): Promise<SignedPut | null> {
    const blob = blobAt(key);
    if (!(service.credential instanceof StorageSharedKeyCredential)) return null;
    const protocol = blob.url.startsWith('https:') ? { protocol: SASProtocol.Https } : {};
    const permissions = BlobSASPermissions.parse('c');
    const url = await ask(() => blob.generateSasUrl({ permissions, expiresOn, ...protocol }));
    return {
      url,
      headers: { 'content-length': String(sizeBytes), 'x-ms-blob-type': 'BlockBlob', 'if-none-match': '*' },
    };
  }

  const store: BlobStore = {
    kind: 'azure',
    signsOnlyTheKey: true,
    put,
    async get(key, { range, signal } = {}) {
      const blob = blobAt(key);
      const [from, count] = range ? [range.from, range.to - range.from + 1] : [0, undefined];
      try {
        const { readableStreamBody } = await blob.download(from, count, { ...(signal && { abortSignal: signal }) });
        return translateErrors(readableStreamBody as Readable, { translate, signal });
      } catch (error) {
        if (statusOf(error) === 416) return Readable.from([]);
        throw isMissing(error) ? blobMissing(key, error) : translate(error);
      }
    },
    find,
    list,
    async delete(key) {
      const blob = blobAt(key);
      await ask(() => blob.deleteIfExists({ deleteSnapshots: 'include' }));
    },
    signPut,
    check: () => proveBlobStore(store),
    close: () => Promise.resolve(),
  };
  return store;
}

/** The container is there, and the blob is not. */
function isMissing(error: unknown): boolean {
  return statusOf(error) === 404 && codeOf(error) !== 'ContainerNotFound';
}

function statusOf(error: unknown): number | undefined {
  return error instanceof RestError ? error.statusCode : undefined;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof RestError ? error.code : undefined;
}
