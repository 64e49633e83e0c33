import { createHash } from 'node:crypto';
import type { Installation } from '../../../support/installation.js';
import { until } from '../../../support/until.js';

/** Somebody who uploads files over HTTP and waits for what becomes of them. */
export interface Uploader {
  register(files: readonly Content[]): Promise<{ batchId: string; files: Registered[] }>;
  send(file: Registered, text: string): Promise<void>;
  /** Registers, uploads and confirms files of one batch. Returns their ids. */
  upload(files: readonly Content[]): Promise<string[]>;
  get(path: string): Promise<Record<string, unknown>>;
  reaches(id: string, state: string, withinMs?: number): Promise<void>;
}

export interface Content {
  name: string;
  text: string;
  mimeType?: string;
}

export interface Registered {
  fileId: string;
  uploadUrl: string;
  uploadHeaders?: Record<string, string>;
}

/** A machine that is busy with other tests embeds slowly. */
const REACHES_WITHIN_MS = 180_000;

export async function uploaderOf({ url, token }: Installation, subject: string): Promise<Uploader> {
  const authorization = `Bearer ${await token(subject)}`;

  async function ask(path: string, init: RequestInit = {}): Promise<Record<string, unknown>> {
    return until(`${path} is answered`, async () => {
      const response = await fetch(new URL(path, url), init);
      if (response.status === 503) return null;
      const body = (await response.json()) as Record<string, unknown>;
      if (!response.ok) throw new Error(`${path}: ${JSON.stringify(body)}`);
      return body;
    });
  }

  function post(path: string, body: object): Promise<Record<string, unknown>> {
    const headers = { authorization, 'content-type': 'application/json' };
    return ask(path, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  const get = (path: string): Promise<Record<string, unknown>> => ask(path, { headers: { authorization } });

  async function register(contents: readonly Content[]): Promise<{ batchId: string; files: Registered[] }> {
    const files = contents.map(({ name, text, mimeType = 'text/plain' }, at) => {
      const bytes = Buffer.from(text);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      return { clientId: String(at), name, mimeType, sizeBytes: bytes.length, sha256 };
    });
    const batch = await post('/api/v2/uploads/batches', { files });
    return { batchId: String(batch['batchId']), files: batch['files'] as Registered[] };
  }

  async function send({ uploadUrl, uploadHeaders = {} }: Registered, text: string): Promise<void> {
    const headers = { 'content-type': 'application/octet-stream', ...uploadHeaders };
    await ask(uploadUrl, { method: 'PUT', headers, body: text });
  }

  return {
    get,
    register,
    send,
    async upload(contents) {
      const { batchId, files } = await register(contents);
      for (const [at, file] of files.entries()) {
        await send(file, contents[at]?.text ?? '');
        await post(`/api/v2/uploads/batches/${batchId}/files/${file.fileId}/confirm`, {});
      }
      return files.map(({ fileId }) => fileId);
    },
    async reaches(id, state, withinMs = REACHES_WITHIN_MS) {
      const isThere = async () => (await get(`/api/v2/files/${id}`))['state'] === state || null;
      await until(`file ${id} is ${state}`, isThere, withinMs);
    },
  };
}
