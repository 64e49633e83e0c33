import { z } from 'zod';
import { SYSTEM } from '../../../../db/spine/transition.js';
import { markDeleting } from '../../db/deletions.js';
import { isToDelete, listOldFailures, type OldFailure, warnOwner } from '../../db/old-failures.js';
import { deleteFile } from '../delete-file.js';
import type { Scope } from './orphan-cleanup.js';
import { workThrough } from './work-through.js';

const Place = z.uuid().nullable();

/** Warns owners of the deletion of failed files, and deletes the files of which their owners were warned. */
export const oldFailures: Scope = async (deps, { at, isDryRun, page }) => {
  const { pool, settings } = deps;
  const { failedKeptDays: keptDays } = settings;
  const counts = { total: 0, warnings: 0, deleted: 0 };
  const walked = await workThrough<OldFailure, string>(
    {
      from: Place.parse(at),
      list: (behind, limit) => listOldFailures(pool, { behind, limit, keptDays }),
      placeOf: ({ id }) => id,
      async work(file) {
        counts.total += 1;
        if (isDryRun) return;
        if (file.is === 'to_warn') counts.warnings += (await warnOwner(pool, file.id, keptDays)) ? 1 : 0;
        else counts.deleted += (await deleteOld(deps, file)) ? 1 : 0;
      },
    },
    page,
  );
  return { ...walked, counts };
};

/** The mark asks the row again, so that a file that was retried meanwhile stays. */
async function deleteOld({ pool, store, pipeline, settings, logger }: Parameters<Scope>[0], file: OldFailure) {
  const condition = isToDelete('$3');
  if (!(await markDeleting(pool, file.id, { state: 'failed', condition, values: [settings.failedKeptDays] })))
    return false;
  const isDeleted = (await deleteFile({ pool, blobs: store, pipeline }, file, SYSTEM)) === 'deleted';
  if (isDeleted) logger.info({ item: file.id }, 'old failed file deleted');
  return isDeleted;
}
