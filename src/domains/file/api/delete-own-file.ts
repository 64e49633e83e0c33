import type { FastifyBaseLogger } from 'fastify';
import { pipelineOf } from '../../../api/items/item-reader.js';
import { tellEngine } from '../../../api/items/tell-engine.js';
import { isAppError } from '../../../core/errors.js';
import { cancelItem } from '../../../db/spine/control.js';
import type { Actor } from '../../../db/spine/transition.js';
import { type FileRecord, markDeletedByOwner } from '../db/files.js';
import type { UploadDeps } from './upload-deps.js';

/** Where the blob store does not answer, the file is gone for its owner, and the clean-up goes on. */
export async function deleteOwnFile(
  deps: UploadDeps,
  log: FastifyBaseLogger,
  file: FileRecord,
  actor: Actor,
): Promise<'deleted' | 'blob_left'> {
  await markDeletedByOwner(deps.pool, file.id);
  if (!file.isEnded) await endWork(deps, log, file, actor);
  return deleteMarked(deps, log, file, actor);
}

/** A worker must not go on with a file whose bytes are being deleted. */
async function endWork(deps: UploadDeps, log: FastifyBaseLogger, file: FileRecord, actor: Actor): Promise<void> {
  try {
    const request = { itemId: file.id, actor, reason: 'deleted by its owner' };
    const changed = await cancelItem(deps.pool, (name) => pipelineOf(deps, name), request);
    await tellEngine(log, () => deps.engine.wake(changed));
  } catch (error) {
    // It has ended meanwhile, another request has deleted it, or its row is being written: then the clean-up ends its work.
    if (!isAppError(error) || !['state_conflict', 'not_found', 'still_alive'].includes(error.code)) throw error;
  }
}

/** Deletes a file that its owner no longer sees. */
export async function deleteMarked(
  deps: UploadDeps,
  log: FastifyBaseLogger,
  file: { id: string; blobKey: string },
  actor: Actor,
): Promise<'deleted' | 'blob_left'> {
  try {
    return await deps.deleteFile(file, actor);
  } catch (error) {
    log.warn({ err: error, fileId: file.id }, 'a file was not deleted; the clean-up will');
    return 'blob_left';
  }
}
