import { z } from 'zod';
import { AppError } from '../../../../core/errors.js';
import { SYSTEM } from '../../../../db/spine/transition.js';
import type { JobPage } from '../../../../ports/job.js';
import { type DeletedFile, type DeletionPlace, listDeleting } from '../../db/deletions.js';
import { deleteFile } from '../delete-file.js';
import type { CleaningDeps } from './settle-upload.js';
import { workThrough } from './work-through.js';

const Place = z.object({ at: z.string(), id: z.uuid() }).nullable();

/** The job that finishes deletions whose blob could not be deleted at once, or whose process died: the blob first, then the row, until
 *  both are gone. Each run begins with the oldest mark. */
export function createFileDeletionPage({ pool, store, pipeline }: CleaningDeps): JobPage {
  return async (page) => {
    const counts = { deleted: 0 };
    const walked = await workThrough<DeletedFile & DeletionPlace, DeletionPlace & { [key: string]: string }>(
      {
        from: Place.parse(page.cursor),
        list: (behind, limit) => listDeleting(pool, { behind, limit }),
        placeOf: ({ at, id }) => ({ at, id }),
        async work(file) {
          const end = await deleteFile({ pool, blobs: store, pipeline }, file, SYSTEM);
          if (end === 'blob_left') throw new AppError('blob_store_unavailable', 'the blob store does not answer');
          counts.deleted += 1;
        },
      },
      page,
    );
    const did = { counts, errors: walked.errors };
    if (walked.next !== null) return { ...did, next: walked.next };
    return { ...did, last: true, isWhole: walked.errors.length === 0 };
  };
}
