import type pg from 'pg';
import type { Logger } from 'pino';
import { isAppError } from '../../../../core/errors.js';
import type { Pipeline } from '../../../../core/pipeline.js';
import { leaveRest } from '../../../../db/spine/leave-rest.js';
import { SYSTEM } from '../../../../db/spine/transition.js';
import { markDeleting } from '../../db/deletions.js';
import { confirmBySystem, type UnconfirmedFile } from '../../db/unconfirmed-files.js';
import { deleteFile } from '../delete-file.js';
import type { CleanedStore } from './limit-blob-calls.js';

export interface CleaningDeps {
  pool: pg.Pool;
  store: CleanedStore;
  pipeline: Pipeline;
  logger: Logger;
}

/** `blob_left`: it is marked, and the job `file-deletion` goes on. `left`: it has moved meanwhile. */
export type Settled = 'queued' | 'deleted' | 'blob_left' | 'left';

/** Ends the wait of a file whose owner did not confirm it: a complete blob is queued, as its owner would have done, and a file without
 *  bytes is deleted. `isDryRun`: only says which. */
export async function settleUpload(deps: CleaningDeps, file: UnconfirmedFile, isDryRun = false): Promise<Settled> {
  const isThere = file.state === 'uploaded' || (await isComplete(deps, file));
  if (isDryRun) return isThere ? 'queued' : 'deleted';
  return isThere ? queue(deps, file) : deleteUnsent(deps, file);
}

async function isComplete({ store }: CleaningDeps, { blobKey, sizeBytes }: UnconfirmedFile): Promise<boolean> {
  const blob = await store.find(blobKey);
  return blob !== null && blob.sizeBytes === sizeBytes;
}

/** The dispatcher starts the run. */
async function queue({ pool, pipeline, logger }: CleaningDeps, { id }: UnconfirmedFile): Promise<Settled> {
  let isConfirmed = false;
  const request = { itemId: id, actor: SYSTEM, outcome: 'confirmed', reason: 'its upload is complete' };
  try {
    await leaveRest(
      pool,
      () => pipeline,
      request,
      async (transaction) => {
        isConfirmed = await confirmBySystem(transaction, id);
        if (!isConfirmed) throw new NotConfirmable();
      },
    );
  } catch (error) {
    if (error instanceof NotConfirmable) return 'left';
    return leftIfMoved(error);
  }
  if (isConfirmed) logger.info({ item: id }, 'complete upload queued');
  return isConfirmed ? 'queued' : 'left';
}

/** Rolls the move back: the file is being deleted, or was confirmed. */
class NotConfirmable extends Error {}

async function deleteUnsent({ pool, store, pipeline, logger }: CleaningDeps, file: UnconfirmedFile): Promise<Settled> {
  const { id, blobKey, owner } = file;
  if (!(await markDeleting(pool, id, { state: 'registered' }))) return 'left';
  const deleted = await deleteFile({ pool, blobs: store, pipeline }, { id, blobKey }, SYSTEM);
  if (deleted === 'deleted') logger.info({ item: id, owner }, 'upload without bytes deleted');
  return deleted;
}

/** The item moved, or is written at this moment. */
function leftIfMoved(error: unknown): 'left' {
  if (
    isAppError(error) &&
    (error.code === 'state_conflict' || error.code === 'still_alive' || error.code === 'not_found')
  )
    return 'left';
  throw error;
}
