import { z } from 'zod';
import type { StoredBlob } from '../../../../ports/blob-store.js';
import { addToTotal } from '../../db/clean-up-totals.js';
import { addToScan, beginScan, endScan, listKeysWithoutFile, type OrphanBlob } from '../../db/orphan-scans.js';
import type { Scope } from './orphan-cleanup.js';

/** Every key of a file begins so. Blobs of other domains in the same store are none of ours. */
const UPLOADS = 'uploads/';

/** A file's row is committed before anybody is told its upload address. So a blob without a row has lost its row, and can't get another.
 *  The day is for an upload that was under way when its row was deleted, and for clocks that differ. */
const GRACE_MS = 86_400_000;

/** As many as Azure and S3 list at most in one answer. */
const LISTED = 1_000;

/** Rows are looked at again before each deletion of so many blobs. */
const DELETED_AT_ONCE = 10;

const Place = z.object({ scan: z.uuid(), batch: z.int(), cursor: z.string().nullable() });

type Counts = {
  total: number;
  deleted: number;
  errors: number;
};

/** Deletes blobs that belong to no file. The store is walked page by page, so memory is bounded by a page however many blobs there
 *  are. Rows are read after the blobs were listed: a row that is committed before that is seen. */
export const orphanBlobs: Scope = async (deps, { at, isDryRun, page }) => {
  const { pool, store } = deps;
  const counts: Counts = { total: 0, deleted: 0, errors: 0 };
  const errors: string[] = [];
  const oldBefore = new Date(page.startedAt.getTime() - (deps.graceMs ?? GRACE_MS));
  let place = at === null ? { scan: await beginScan(pool, isDryRun), batch: 0, cursor: null } : Place.parse(at);
  for (;;) {
    page.signal.throwIfAborted();
    const { blobs, next } = await store.list({ prefix: UPLOADS, cursor: place.cursor, limit: deps.listed ?? LISTED });
    page.beat();
    const orphans = await findOrphans(deps, blobs, oldBefore);
    // Counted before they are deleted: a page that is killed in between lists only what is left.
    await addToScan(pool, { scanId: place.scan, batch: place.batch, orphans });
    counts.total += orphans.length;
    if (!isDryRun) errors.push(...(await deleteOrphans(deps, { orphans, counts, page })));
    if (next === null) {
      await endScan(pool, place.scan);
      return { counts, errors, next: null, isStopped: false };
    }
    place = { scan: place.scan, batch: place.batch + 1, cursor: next };
    if (Date.now() >= page.deadline.getTime()) return { counts, errors, next: place, isStopped: false };
  }
};

type Deps = Parameters<Scope>[0];

async function findOrphans({ pool }: Deps, blobs: readonly StoredBlob[], oldBefore: Date): Promise<OrphanBlob[]> {
  const old = blobs.filter(({ storedAt }) => storedAt < oldBefore);
  const orphans = await listKeysWithoutFile(
    pool,
    old.map(({ key }) => key),
  );
  return old
    .filter(({ key }) => orphans.has(key))
    .map(({ key, sizeBytes }) => ({ key, sizeBytes, ownerKey: ownerKeyIn(key) }));
}

/** The part of a key that stands for the owner, with the slash behind it; all that begins so belongs to one owner. */
function ownerKeyIn(key: string): string {
  return key.slice(0, key.indexOf('/', UPLOADS.length) + 1);
}

interface Deleting {
  orphans: readonly OrphanBlob[];
  counts: Counts;
  page: Parameters<Scope>[1]['page'];
}

async function deleteOrphans(deps: Deps, { orphans, counts, page }: Deleting): Promise<string[]> {
  const { pool, store, logger } = deps;
  const errors: string[] = [];
  for (let from = 0; from < orphans.length; from += DELETED_AT_ONCE) {
    page.signal.throwIfAborted();
    const keys = orphans.slice(from, from + DELETED_AT_ONCE).map(({ key }) => key);
    const still = [...(await listKeysWithoutFile(pool, keys))];
    const ends = await Promise.allSettled(still.map((key) => store.delete(key)));
    page.beat();
    const failed = ends.flatMap((end, n) =>
      end.status === 'rejected' ? [`${still[n] ?? ''}: ${String(end.reason)}`] : [],
    );
    for (const error of failed) logger.error({ error }, 'orphan blob could not be deleted');
    errors.push(...failed);
    counts.deleted += still.length - failed.length;
    counts.errors += failed.length;
    await addToTotal(pool, 'orphan_blobs_deleted_total', still.length - failed.length);
  }
  if (counts.deleted > 0) logger.info({ deleted: counts.deleted }, 'orphan blobs deleted');
  return errors;
}
