import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

const PREFIX = 'unstuck-fetch-';

/** Ten times as long as a fetch may take: whoever made it is no more. */
const ABANDONED_AFTER_MS = 600_000;

/** Gone when the work has ended, however it ended. */
export async function inTemporaryFolder<T>(parent: string, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(parent, PREFIX));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Folders of processes that were killed while they fetched. */
export async function removeAbandoned(parent: string, now: number): Promise<void> {
  const names = (await readdir(parent)).filter((name) => name.startsWith(PREFIX));
  for (const name of names) {
    const folder = join(parent, name);
    // Somebody else may be clearing up too.
    const made = await stat(folder).catch(() => null);
    if (made && now - made.mtimeMs > ABANDONED_AFTER_MS) await rm(folder, { recursive: true, force: true });
  }
}
