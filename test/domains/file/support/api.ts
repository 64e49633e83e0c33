import { createHash } from 'node:crypto';
import pg from 'pg';
import { openApi, type TestApi, type TestApiOptions, type Who } from '../../../api/setup.js';
import { createMemoryBlobs, type MemoryBlobs } from './memory-blobs.js';

export interface FileApi extends TestApi {
  store: MemoryBlobs;
  /** Tells the text of every statement that the API sends until it is stopped. */
  listenToStatements(tell: (text: string) => void): () => void;
}

/** Everything that asks Postgres in this process passes here, Prisma's adapter included. */
function listenToStatements(tell: (text: string) => void): () => void {
  const prototype = pg.Client.prototype as unknown as { query: (...args: unknown[]) => unknown };
  const { query } = prototype;
  prototype.query = function (this: unknown, ...args: unknown[]) {
    const [asked] = args;
    const text = typeof asked === 'string' ? asked : (asked as { text?: string } | undefined)?.text;
    if (text !== undefined) tell(text);
    return query.apply(this, args);
  };
  return () => {
    prototype.query = query;
  };
}

/** The API with a blob store in memory. */
export async function openFileApi(options: TestApiOptions = {}): Promise<FileApi> {
  const blobs = createMemoryBlobs();
  const api = await openApi({ blobs: () => Promise.resolve(blobs), ...options });
  return { ...api, store: blobs, listenToStatements };
}

export interface Announced {
  clientId: string;
  name: string;
  mimeType: string;
  sizeBytes: number;
  sha256?: string;
}

export interface Registered {
  batchId: string;
  expiresAt: string;
  files: { clientId: string; fileId: string; uploadUrl: string; uploadHeaders?: Record<string, string> }[];
}

export const TEXT = 'The quick brown fox jumps over the lazy dog.';

export function announced(content: string, changes: Partial<Announced> = {}): Announced {
  const sizeBytes = Buffer.byteLength(content);
  return { clientId: 'a', name: 'a.txt', mimeType: 'text/plain', sizeBytes, sha256: sha256Of(content), ...changes };
}

export function sha256Of(content: string): string {
  return createHash('sha256').update(content).digest('hex');
}

export async function register(
  api: FileApi,
  as: Who,
  files: readonly Announced[] = [announced(TEXT)],
): Promise<Registered> {
  const response = await api.call({ method: 'POST', url: '/api/v2/uploads/batches', as, payload: { files } });
  if (response.statusCode !== 201) throw new Error(response.body);
  return response.json<Registered>();
}

/** A batch with one file. */
export interface One {
  batchId: string;
  fileId: string;
  uploadUrl: string;
}

export async function registerOne(api: FileApi, as: Who, file: Announced = announced(TEXT)): Promise<One> {
  const { batchId, files } = await register(api, as, [file]);
  const [first] = files;
  if (!first) throw new Error('a batch of one file has none');
  return { batchId, fileId: first.fileId, uploadUrl: first.uploadUrl };
}

export function send(api: FileApi, uploadUrl: string, content: string | Buffer = TEXT, headers = {}) {
  const bytes = { 'content-type': 'application/octet-stream', ...headers };
  return api.call({ method: 'PUT', url: uploadUrl, payload: content, headers: bytes });
}

export function confirm(api: FileApi, as: Who, { batchId, fileId }: { batchId: string; fileId: string }) {
  return api.call({ method: 'POST', url: `/api/v2/uploads/batches/${batchId}/files/${fileId}/confirm`, as });
}

/** A file that is registered, uploaded and confirmed. */
export async function bring(api: FileApi, as: Who, content = TEXT, changes: Partial<Announced> = {}): Promise<One> {
  const one = await registerOne(api, as, announced(content, changes));
  const sent = await send(api, one.uploadUrl, content);
  const confirmed = await confirm(api, as, one);
  if (sent.statusCode !== 201 || confirmed.statusCode !== 200) throw new Error(sent.body + confirmed.body);
  return one;
}

export async function stateOf(api: FileApi, id: string): Promise<string | undefined> {
  const { rows } = await api.database.pool.query<{ state: string }>('SELECT state FROM items WHERE id = $1', [id]);
  return rows[0]?.state;
}

export async function batchRow(api: FileApi, id: string): Promise<{ status: string; unconfirmed: number } | undefined> {
  const { rows } = await api.database.pool.query<{ status: string; unconfirmed: number }>(
    'SELECT status, unconfirmed FROM upload_batches WHERE id = $1',
    [id],
  );
  return rows[0];
}

/** As if the batch's time were over. */
export async function expire(api: FileApi, batchId: string): Promise<void> {
  await api.database.pool.query(`UPDATE upload_batches SET expires_at = now() - interval '1 second' WHERE id = $1`, [
    batchId,
  ]);
}
