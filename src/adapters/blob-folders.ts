import { opendir } from 'node:fs/promises';
import { join } from 'node:path';

/** Blobs of one owner are spread over folders by the beginning of their ids. Ids that begin with the time (UUID v7) share a folder when
 *  they were made within 17 minutes, so a page of a list reads a few small folders, however many blobs the owner has. The end of the id
 *  would spread them more evenly, but then each page would have to read all folders to find the smallest keys. */
const SHARED_DIGITS = 7;

/** Names that one reading of a folder keeps in memory. More pages than this of one folder are rare, and each reads it again. */
const NAMES_AT_ONCE = 1_000;

/** Node asks the system for so many entries at once. Its default of 32 makes a large folder several times slower. */
const ENTRIES_AT_ONCE = 1_024;

const NAME = /^[a-z0-9][a-z0-9-]*$/;

/** The folders below the root, and the name of the file. */
export function pathOfBlob(key: string): string[] {
  const [use = '', owner = '', id = ''] = key.split('/');
  return [use, owner, id.slice(0, SHARED_DIGITS), id];
}

function keyOfPath([use, owner, , id]: readonly string[]): string {
  return `${use}/${owner}/${id}`;
}

/** The keys from the given text on, in their order. `from` need not be a whole key. */
export async function* keysIn(root: string, from: string): AsyncGenerator<string> {
  for await (const path of pathsIn(root, [], pathOfBlob(from))) yield keyOfPath(path);
}

async function* pathsIn(
  root: string,
  above: readonly string[],
  [from = '', ...deeper]: readonly string[],
): AsyncGenerator<string[]> {
  const isLast = above.length === 3;
  for await (const name of namesIn(join(root, ...above), { from, kind: isLast ? 'file' : 'folder' })) {
    const path = [...above, name];
    if (isLast) yield path;
    else yield* pathsIn(root, path, name === from ? deeper : []);
  }
}

interface Wanted {
  from: string;
  kind: 'file' | 'folder';
}

async function* namesIn(folder: string, { from, kind }: Wanted): AsyncGenerator<string> {
  for (let next = from; ;) {
    const names = await smallestNames(folder, { from: next, kind });
    yield* names;
    if (names.length < NAMES_AT_ONCE) return;
    // No name contains it, so this is the place directly behind the last name.
    next = `${names.at(-1)}\0`;
  }
}

/** The first names of a folder in their order. The system gives them in no order, so all are read, and only the first are kept. */
async function smallestNames(folder: string, { from, kind }: Wanted): Promise<string[]> {
  const kept: string[] = [];
  try {
    for await (const entry of await opendir(folder, { bufferSize: ENTRIES_AT_ONCE })) {
      const isWanted = kind === 'file' ? entry.isFile() : entry.isDirectory();
      if (!isWanted || entry.name < from || !NAME.test(entry.name)) continue;
      kept.push(entry.name);
      if (kept.length === 2 * NAMES_AT_ONCE) kept.sort().splice(NAMES_AT_ONCE);
    }
  } catch (error) {
    // A folder without blobs is deleted, and may be deleted while it is read.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  kept.sort().splice(NAMES_AT_ONCE);
  return kept;
}
