import type { Readable } from 'node:stream';
import type { FastifyBaseLogger } from 'fastify';
import { pipelineOf } from '../../../api/items/item-reader.js';
import { AppError, isAppError } from '../../../core/errors.js';
import { leaveRest } from '../../../db/spine/leave-rest.js';
import { findUpload, type Upload } from '../db/files.js';
import { FILE_CODES } from '../errors.js';
import type { UploadDeps } from './upload-deps.js';

/** Stores the bytes under the file's key, and moves the file on. */
export async function receiveUpload(
  deps: UploadDeps,
  log: FastifyBaseLogger,
  upload: Upload,
  bytes: Readable,
): Promise<void> {
  const { id, owner, blobKey, sizeBytes, sha256 } = upload;
  const blobs = await deps.blobs();
  try {
    await blobs.put(blobKey, bytes, { sizeBytes, ...(sha256 !== null && { sha256 }) });
  } catch (error) {
    bytes.destroy();
    throw await refusalOf(deps, upload, bytes, error);
  }
  try {
    await markUploaded(deps, upload);
  } catch (error) {
    if (await isStillWanted(deps, id)) {
      // The blob is there, so the file can be confirmed, whatever its row says.
      log.warn({ err: error, fileId: id, owner }, 'an uploaded file was not moved on');
      return;
    }
    await blobs.delete(blobKey);
    throw new AppError(FILE_CODES.upload_expired, 'the file was deleted while its bytes were sent', { cause: error });
  }
}

async function markUploaded(deps: UploadDeps, { id, owner }: Upload): Promise<void> {
  const request = { itemId: id, actor: { id: owner, type: 'user' } as const, outcome: 'uploaded' };
  await leaveRest(
    deps.pool,
    (name) => pipelineOf(deps, name),
    request,
    async (transaction) => {
      if (!(await findUpload(transaction, id))) throw new AppError('not_found', `file ${id} is being deleted`);
    },
  );
}

/** Another request may have confirmed the file since, or deleted it. */
async function isStillWanted(deps: UploadDeps, id: string): Promise<boolean> {
  return (await findUpload(deps.pool, id)) !== null;
}

/** The reason why the bytes were not stored. The fault of the bytes themselves comes before that of the store, which only saw their end. */
async function refusalOf(deps: UploadDeps, upload: Upload, bytes: Readable, error: unknown): Promise<unknown> {
  if (isAppError(error) && error.code === 'blob_exists') {
    // An earlier request may have died between the blob and the row.
    await markUploaded(deps, upload).catch(() => undefined);
    return new AppError('state_conflict', 'the bytes of this file are there already; confirm the upload', {
      cause: error,
    });
  }
  return isAppError(bytes.errored) ? bytes.errored : error;
}
