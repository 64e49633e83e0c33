import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Folders of one kind of work. */
export interface FolderKind {
  prefix: string;
  /** Longer than the work in a folder may take, so the process that made an older folder is gone. */
  abandonedAfterMs: number;
}

/** Ten times as long as a fetch may take. */
const FETCH: FolderKind = { prefix: 'unstuck-fetch-', abandonedAfterMs: 600_000 };

/** Removes the folder when the work has ended, however it ended. */
export async function withTemporaryFolder<T>(
  parent: string,
  work: (folder: string) => Promise<T>,
  { prefix }: Pick<FolderKind, 'prefix'> = FETCH,
): Promise<T> {
  const folder = await mkdtemp(join(parent, prefix));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Removes the folders of processes that were killed during their work. */
export async function removeAbandoned(
  parent: string,
  now: number,
  { prefix, abandonedAfterMs }: FolderKind = FETCH,
): Promise<void> {
  const names = (await readdir(parent)).filter((name) => name.startsWith(prefix));
  for (const name of names) {
    const folder = join(parent, name);
    // Another process may remove the folder at the same time.
    const made = await stat(folder).catch(() => null);
    if (made && now - made.mtimeMs > abandonedAfterMs) await rm(folder, { recursive: true, force: true });
  }
}
