import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

const PREFIX = 'unstuck-fetch-';

/** Ten times as long as the work in a folder may take, so the process that made the folder is gone. */
const ABANDONED_AFTER_MS = 600_000;

/** Removes the folder when the work has ended, however it ended. */
export async function withTemporaryFolder<T>(parent: string, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(parent, PREFIX));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Removes the folders of processes that were killed during their work. */
export async function removeAbandoned(parent: string, now: number): Promise<void> {
  const names = (await readdir(parent)).filter((name) => name.startsWith(PREFIX));
  for (const name of names) {
    const folder = join(parent, name);
    // Another process may remove the folder at the same time.
    const made = await stat(folder).catch(() => null);
    if (made && now - made.mtimeMs > ABANDONED_AFTER_MS) await rm(folder, { recursive: true, force: true });
  }
}
