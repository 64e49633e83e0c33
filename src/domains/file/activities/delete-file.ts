import type pg from 'pg';
import { isAppError } from '../../../core/errors.js';
import type { Pipeline } from '../../../core/pipeline.js';
import { inTransaction } from '../../../db/postgres/client.js';
import { deleteItem } from '../../../db/spine/delete-item.js';
import { lockItem } from '../../../db/spine/item-row.js';
import type { Actor } from '../../../db/spine/transition.js';
import type { BlobStore } from '../../../ports/blob-store.js';
import { countOut } from '../db/batches.js';

export interface DeletingParts {
  pool: pg.Pool;
  blobs: BlobStore;
  pipeline: Pipeline;
}

/** Deletes a file for good: the blob first, then the row, because a row that is left behind still names its blob. Deleting twice is
 *  harmless. `blob_left`: the store does not answer, and both are still there. */
export async function deleteFile(
  { pool, blobs, pipeline }: DeletingParts,
  file: { id: string; blobKey: string },
  actor: Actor,
): Promise<'deleted' | 'blob_left'> {
  try {
    await blobs.delete(file.blobKey);
  } catch (error) {
    if (isAppError(error) && error.code === 'blob_store_unavailable') return 'blob_left';
    throw error;
  }
  await inTransaction(pool, async (transaction) => {
    // The item is locked before the batch, as in a confirmation.
    if (!(await lockItem(transaction, file.id))) return;
    await countOut(transaction, file.id);
    await deleteItem(transaction, pipeline, { itemId: file.id, actor });
  });
  return 'deleted';
}
