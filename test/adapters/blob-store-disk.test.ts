import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { BlobStore } from '../../src/ports/blob-store.js';
import { createDiskBlobStore } from '../../src/adapters/blob-store-disk.js';
import { gatherKeys, newKey, newOwner, putText } from '../ports/blobs.js';
import { tempDir } from '../start/temp-dir.js';
import { blobStoreContract, type OpenedStore } from '../ports/blob-store-contract.js';

/** Its folder was there when it was opened, and is no longer. */
async function openUnmounted(): Promise<BlobStore> {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-test-'));
  const store = await createDiskBlobStore({ folder });
  rmSync(folder, { recursive: true });
  return store;
}

async function open(): Promise<OpenedStore> {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-test-'));
  return {
    store: await createDiskBlobStore({ folder }),
    away: openUnmounted,
    misplaced: openUnmounted,
    async close() {
      rmSync(folder, { recursive: true });
    },
  };
}

blobStoreContract('a folder', open, { expired: null });

describe('a folder of blobs', () => {
  it('removes what killed processes left unfinished, when it is opened and when a list begins', async () => {
    const folder = tempDir();
    const store = await createDiskBlobStore({ folder });
    const leave = (name: string, hoursAgo: number): void => {
      const path = join(folder, '.unfinished', name);
      const at = new Date(Date.now() - hoursAgo * 3_600_000);
      writeFileSync(path, 'half a blob');
      utimesSync(path, at, at);
    };
    leave('old', 2);
    leave('young', 0.5);

    await createDiskBlobStore({ folder });
    expect(readdirSync(join(folder, '.unfinished'))).toEqual(['young']);

    leave('old', 2);
    expect(await store.list({ prefix: '', cursor: null, limit: 10 })).toEqual({ blobs: [], next: null });
    expect(readdirSync(join(folder, '.unfinished'))).toEqual(['young']);
  });

  it('leaves nothing but blobs: no unfinished file, and no empty folder', async () => {
    const folder = tempDir();
    const store = await createDiskBlobStore({ folder });
    const key = newKey();
    await putText(store, key, 'x');
    await expect(store.put(newKey(), Readable.from(['x']), { sizeBytes: 2 })).rejects.toThrow();
    const [, owner = '', id = ''] = key.split('/');
    const all = (): string[] => (readdirSync(folder, { recursive: true }) as string[]).sort();
    const path = `use/${owner}/${id.slice(0, 7)}`;

    expect(all()).toEqual(['.unfinished', 'use', `use/${owner}`, path, `${path}/${id}`]);
    await store.delete(key);
    expect(all()).toEqual(['.unfinished', 'use']);
  });

  it('closes its files to other users', async () => {
    const folder = join(tempDir(), 'blobs');
    const store = await createDiskBlobStore({ folder });
    await putText(store, 'use/owner/id', 'x');

    const modes = ['', 'use', 'use/owner', 'use/owner/id', 'use/owner/id/id'].map(
      (path) => statSync(join(folder, path)).mode & 0o777,
    );

    expect(modes).toEqual([0o700, 0o700, 0o700, 0o700, 0o600]);
  });

  it('shows nothing that is no blob', async () => {
    const folder = tempDir();
    const store = await createDiskBlobStore({ folder });
    await putText(store, 'use/owner/id', 'x');
    mkdirSync(join(folder, 'lost+found'));
    writeFileSync(join(folder, 'README'), '');
    writeFileSync(join(folder, 'use', 'owner', 'id', '.hidden'), '');
    symlinkSync('/etc', join(folder, 'use', 'etc'));

    expect((await gatherKeys(store, '', 10)).flat()).toEqual(['use/owner/id']);
  });

  it('lists 20,000 blobs of one owner once each and in order, also where thousands share a folder', async () => {
    const folder = tempDir();
    const store = await createDiskBlobStore({ folder });
    const owner = newOwner();
    // Ids that begin with the time, a second apart, so that a thousand share a folder, and 4,000 made within a second.
    const begin = Date.parse('2026-11-19T00:00:00Z');
    const ids = Array.from({ length: 20_000 }, (_, n) => uuidAt(begin + (n < 4_000 ? n / 4 : n * 1_000)));
    for (const id of ids) {
      const path = join(folder, 'use', owner, id.slice(0, 7));
      mkdirSync(path, { recursive: true });
      writeFileSync(join(path, id), '');
    }

    const pages = await gatherKeys(store, `use/${owner}/`, 900);

    expect(Math.max(...pages.map(({ length }) => length))).toBe(900);
    expect(pages.flat()).toEqual(ids.map((id) => `use/${owner}/${id}`).sort());
  });
});

function uuidAt(ms: number): string {
  const time = Math.floor(ms).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
