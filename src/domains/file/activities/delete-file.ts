import type pg from 'pg';
import { isAppError } from '../../../core/errors.js';
import type { Pipeline } from '../../../core/pipeline.js';
import { inTransaction } from '../../../db/postgres/client.js';
import { cancelItem } from '../../../db/spine/control.js';
import { deleteItem, mayDelete } from '../../../db/spine/delete-item.js';
import { lockItem } from '../../../db/spine/item-row.js';
import type { Actor } from '../../../db/spine/transition.js';
import type { BlobStore } from '../../../ports/blob-store.js';
import { countOut } from '../db/batches.js';

export interface DeletingParts {
  pool: pg.Pool;
  blobs: Pick<BlobStore, 'delete'>;
  pipeline: Pipeline;
}

/** Deletes a file for good: the blob first, then the row, because a row that is left behind still names its blob. Deleting twice is
 *  harmless. Work on the file is ended before, or a worker would fail on bytes that are gone. `blob_left`: the store does not answer, or
 *  somebody is writing the item at this moment, and both are still there. */
export async function deleteFile(
  { pool, blobs, pipeline }: DeletingParts,
  file: { id: string; blobKey: string },
  actor: Actor,
): Promise<'deleted' | 'blob_left'> {
  if (!(await endWork(pool, pipeline, { itemId: file.id, actor }))) return 'blob_left';
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

/** False: another transaction is writing the item, so its work could not be ended. The dispatcher tells the run. */
async function endWork(pool: pg.Pool, pipeline: Pipeline, request: { itemId: string; actor: Actor }): Promise<boolean> {
  const { rows } = await pool.query<{ state: string }>('SELECT state FROM items WHERE id = $1', [request.itemId]);
  const [item] = rows;
  if (!item || mayDelete(pipeline, item.state)) return true;
  try {
    await cancelItem(pool, () => pipeline, { ...request, reason: 'the file is deleted' });
  } catch (error) {
    if (isAppError(error) && error.code === 'still_alive') return false;
    // It has ended or was deleted meanwhile.
    if (!isAppError(error) || !['state_conflict', 'not_found'].includes(error.code)) throw error;
  }
  return true;
}
