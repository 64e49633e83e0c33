import type { FastifyBaseLogger } from 'fastify';
import type { z } from 'zod';
import type { Caller } from '../../../api/http/auth.js';
import { actorOf } from '../../../api/http/permissions.js';
import { pipelineOf } from '../../../api/items/item-reader.js';
import { startRun } from '../../../api/items/tell-engine.js';
import { AppError, isAppError } from '../../../core/errors.js';
import { runStartOf } from '../../../db/spine/items.js';
import { leaveRest } from '../../../db/spine/leave-rest.js';
import { verifyBlob } from '../../../ports/verify-blob.js';
import { type BatchFile, countConfirmed, findBatchFile } from '../db/batches.js';
import { FILE_CODES } from '../errors.js';
import { mayHandle, noSuchBatch, noSuchFile } from './own-file.js';
import type { UploadDeps } from './upload-deps.js';
import type { Confirmed } from './upload-schema.js';

interface Confirming {
  caller: Caller;
  log: FastifyBaseLogger;
  batchId: string;
  fileId: string;
}

/** Moves an uploaded file on to its work. A file that is confirmed already is answered in the same way again. */
export async function confirmUpload(deps: UploadDeps, confirming: Confirming): Promise<z.output<typeof Confirmed>> {
  const { caller, batchId, fileId } = confirming;
  const found = await findOpen(deps, confirming);
  if (found.confirmedAt) return confirmedAnswer(batchId, fileId, found.confirmedAt);
  await assertUploaded(deps, found);
  try {
    await moveOn(deps, confirming);
  } catch (error) {
    // Another request may have confirmed it meanwhile.
    if (!isAppError(error) || error.code !== 'state_conflict') throw error;
    const again = await findOpen(deps, confirming);
    if (!again.confirmedAt) throw error;
  }
  const { confirmedAt } = await findOpen(deps, { ...confirming, caller });
  return confirmedAnswer(batchId, fileId, confirmedAt ?? new Date());
}

async function findOpen({ pool }: UploadDeps, { caller, batchId, fileId }: Confirming): Promise<BatchFile> {
  const found = await findBatchFile(pool, batchId, fileId);
  if (!found || !mayHandle(caller, found)) throw noSuchBatch(batchId);
  if (found.isThere && found.confirmedAt) return found;
  if (!found.isOpen) throw expired();
  if (!found.isThere) throw noSuchFile(fileId);
  return found;
}

function expired(): AppError {
  const message = 'this batch has expired or was cancelled; register the file in a new batch';
  return new AppError(FILE_CODES.upload_expired, message);
}

/** With signed requests of the store's own the bytes have not passed through us, so the store says whether they are there. */
async function assertUploaded(deps: UploadDeps, { blobKey, sizeBytes, sha256 }: BatchFile): Promise<void> {
  const expected = { sizeBytes, ...(sha256 !== null && { sha256 }) };
  const blob = await verifyBlob(await deps.blobs(), blobKey, expected);
  if (blob.is === 'there') return;
  const why = blob.is === 'missing' ? 'its bytes are not there' : blob.why;
  throw new AppError(FILE_CODES.upload_missing, `${why}; PUT the whole file to its uploadUrl, then confirm it again`);
}

async function moveOn(deps: UploadDeps, { caller, log, fileId }: Confirming): Promise<void> {
  const request = { itemId: fileId, actor: actorOf(caller), outcome: 'confirmed' };
  const changed = await leaveRest(
    deps.pool,
    (name) => pipelineOf(deps, name),
    request,
    async (transaction) => {
      // The batch may have been cancelled since it was looked at.
      if (!(await countConfirmed(transaction, fileId))) throw expired();
    },
  );
  await startRun(deps, log, runStartOf(pipelineOf(deps, changed.pipeline), changed));
}

function confirmedAnswer(batchId: string, fileId: string, confirmedAt: Date): z.output<typeof Confirmed> {
  return { batchId, fileId, confirmedAt: confirmedAt.toISOString(), fileUrl: `/api/v2/files/${fileId}` };
}
