import { randomUUID } from 'node:crypto';
import { type FileHandle, link, mkdir, open, opendir, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { assertBlobKey, assertBlobPrefix } from '../core/blob-key.js';
import type { BlobPage, BlobStore, ExpectedBlob, StoredBlob } from '../ports/blob-store.js';
import { askStore, blobExists, blobMissing, storeUnavailable, translateErrors } from './blob-failure.js';
import { keysIn, pathOfBlob } from './blob-folders.js';
import { checkBytes } from './checked-bytes.js';
import { proveBlobStore } from './prove-blob-store.js';

/** Bytes are written here first, on the same file system as the blobs, because a link cannot lead to another one. No key begins so. */
const UNFINISHED = '.unfinished';

/** A process that was killed leaves its unfinished file. A living process writes to its file whenever bytes come, and no request may
 *  be silent for an hour. */
const LEFT_BEHIND_AFTER_MS = 3_600_000;

/** The folder of a blob may be deleted, with the last blob in it, before a new blob has its place there. Each try loses such a race
 *  once. */
const PLACING_TRIES = 20;

/** Keeps blobs as files in a folder, which all processes of an installation must have in common. */
export async function createDiskBlobStore({ folder }: { folder: string }): Promise<BlobStore> {
  const unfinished = join(folder, UNFINISHED);
  const pathOf = (key: string): string => join(folder, ...pathOfBlob(key));
  const translate = (error: unknown) => storeUnavailable(`the folder ${folder}`, error);
  const ask = <T>(call: () => Promise<T>): Promise<T> => askStore(call, { translate });

  async function put(key: string, bytes: Readable, expected: ExpectedBlob, signal?: AbortSignal): Promise<StoredBlob> {
    // Most puts under a taken key are refused here, before their bytes are read. The link refuses the others.
    if (await find(key)) throw blobExists(key);
    const temporary = join(unfinished, randomUUID());
    try {
      await writeFile(temporary, checkBytes(bytes, expected, signal));
      signal?.throwIfAborted();
      if (!(await ask(() => place(temporary, pathOf(key))))) throw blobExists(key);
      await ask(() => syncFolders(dirname(pathOf(key)), folder));
    } finally {
      // A file that cannot be removed now is removed as one that was left behind.
      await rm(temporary, { force: true }).catch(() => undefined);
    }
    return (await find(key)) ?? { key, sizeBytes: expected.sizeBytes, storedAt: new Date() };
  }

  async function writeFile(path: string, chunks: AsyncIterable<Buffer>): Promise<void> {
    const file = await ask(() => open(path, 'wx', 0o600));
    try {
      for await (const chunk of chunks) await ask(() => file.appendFile(chunk));
      await ask(() => file.sync());
    } finally {
      await file.close();
    }
  }

  async function find(key: string): Promise<StoredBlob | null> {
    assertBlobKey(key);
    const found = await ask(() => orNull(stat(pathOf(key)), ['ENOENT']));
    if (!found) await assertThere();
    return found && { key, sizeBytes: found.size, storedAt: found.mtime };
  }

  /** A folder that is no longer mounted must not look like one without blobs, because items would be ended for that. */
  function assertThere(): Promise<unknown> {
    return ask(() => stat(unfinished));
  }

  async function list({ prefix, cursor, limit }: Parameters<BlobStore['list']>[0]): Promise<BlobPage> {
    assertBlobPrefix(prefix);
    await assertThere();
    if (cursor === null) await ask(() => removeLeftBehind(unfinished));
    // Nothing sorts between a key and the key with a zero behind it.
    const from = cursor === null ? prefix : `${cursor}\0`;
    return ask(() => readPage(keysIn(folder, from), { prefix, limit, find }));
  }

  async function remove(key: string): Promise<void> {
    assertBlobKey(key);
    const path = pathOf(key);
    await assertThere();
    await ask(async () => {
      await rm(path, { force: true });
      await removeIfEmpty(dirname(path));
      await removeIfEmpty(dirname(dirname(path)));
    });
  }

  const store: BlobStore = {
    kind: 'disk',
    put,
    async get(key, { range, signal } = {}) {
      assertBlobKey(key);
      const file = await ask(() => orNull(open(pathOf(key), 'r'), ['ENOENT']));
      if (!file) {
        await assertThere();
        throw blobMissing(key);
      }
      const part = range && { start: range.from, end: range.to };
      return translateErrors(file.createReadStream(part ?? {}), { translate, signal });
    },
    find,
    list,
    delete: remove,
    async signPut(key) {
      assertBlobKey(key);
      return null;
    },
    check: () => proveBlobStore(store),
    close: () => Promise.resolve(),
  };
  await ask(() => mkdir(unfinished, { recursive: true, mode: 0o700 }));
  await ask(() => removeLeftBehind(unfinished));
  return store;
}

interface PageOf {
  prefix: string;
  limit: number;
  find(key: string): Promise<StoredBlob | null>;
}

async function readPage(keys: AsyncIterable<string>, { prefix, limit, find }: PageOf): Promise<BlobPage> {
  const blobs: StoredBlob[] = [];
  for await (const key of keys) {
    if (!key.startsWith(prefix)) break;
    if (blobs.length === limit) return { blobs, next: blobs.at(-1)?.key ?? null };
    const blob = await find(key);
    if (blob) blobs.push(blob); // or it was deleted meanwhile
  }
  return { blobs, next: null };
}

/** False: the name is taken. A link, unlike a rename, does not replace a file, and the file is under its name whole or not at all. */
async function place(temporary: string, path: string): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    try {
      await link(temporary, path);
      return true;
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      if (codeOf(error) !== 'ENOENT' || tries === PLACING_TRIES) throw error;
    }
  }
}

/** A file that is synced can still lose its name in a power cut until its folder is synced too, and so can a new folder. */
async function syncFolders(from: string, upTo: string): Promise<void> {
  for (let folder = from; ; folder = dirname(folder)) {
    const opened = await orNull(open(folder, 'r'), ['ENOENT']); // the blob was deleted again, and the folder with it
    if (opened) await syncAndClose(opened);
    if (folder === upTo) return;
  }
}

async function syncAndClose(opened: FileHandle): Promise<void> {
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}

async function removeIfEmpty(folder: string): Promise<void> {
  await orNull(rmdir(folder), ['ENOENT', 'ENOTEMPTY', 'EEXIST']);
}

async function removeLeftBehind(unfinished: string): Promise<void> {
  for await (const { name } of await opendir(unfinished)) {
    const path = join(unfinished, name);
    const found = await orNull(stat(path), ['ENOENT']);
    if (found && Date.now() - found.mtimeMs > LEFT_BEHIND_AFTER_MS) await rm(path, { force: true });
  }
}

async function orNull<T>(answer: Promise<T>, codes: readonly string[]): Promise<T | null> {
  return answer.catch((error: unknown) => {
    if (codes.includes(codeOf(error))) return null;
    throw error;
  });
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}
