import { z } from 'zod';
import { addToTotal } from '../../db/clean-up-totals.js';
import { listAbandoned, type UnconfirmedFile } from '../../db/unconfirmed-files.js';
import type { Scope } from './orphan-cleanup.js';
import { settleUpload } from './settle-upload.js';
import { workThrough } from './work-through.js';

const Place = z.uuid().nullable();

/** Deletes files whose upload never came. */
export const abandonedUploads: Scope = async (deps, { at, isDryRun, page }) => {
  const { pool, settings } = deps;
  const counts = { total: 0, deleted: 0, queued: 0 };
  const walked = await workThrough<UnconfirmedFile, string>(
    {
      from: Place.parse(at),
      list: (behind, limit) => listAbandoned(pool, { behind, limit, abandonedAfterMs: settings.abandonedAfterMs }),
      placeOf: ({ id }) => id,
      async work(file) {
        const settled = await settleUpload(deps, file, isDryRun);
        if (settled === 'left') return;
        counts.total += 1;
        if (settled === 'queued') counts.queued += 1;
        if (settled !== 'deleted') return;
        counts.deleted += 1;
        if (!isDryRun) await addToTotal(pool, 'abandoned_uploads_deleted_total', 1);
      },
    },
    page,
  );
  // A dry run counts in `deleted` only deletions that were made: none.
  return { ...walked, counts: isDryRun ? { ...counts, deleted: 0, queued: 0 } : counts };
};
