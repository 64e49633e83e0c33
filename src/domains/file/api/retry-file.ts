import type { FastifyBaseLogger } from 'fastify';
import { retry } from '../../../api/items/retry.js';
import { AppError } from '../../../core/errors.js';
import type { Actor } from '../../../db/spine/transition.js';
import { type FileRecord, forgetWarning } from '../db/files.js';
import { FILE_CODES } from '../errors.js';
import type { UploadDeps } from './upload-deps.js';

/** Begins the work of a failed file anew. */
export async function retryFile(
  deps: UploadDeps,
  log: FastifyBaseLogger,
  { id, state, confirmedAt }: FileRecord,
  asked: { actor: Actor; reason: string | undefined },
): Promise<void> {
  if (state !== 'failed') {
    const why = state === 'ready' ? 'is ready' : `is in ${state} and has not failed`;
    throw new AppError('state_conflict', `file ${id} ${why}; only a failed file is tried again`, { facts: { state } });
  }
  if (!confirmedAt) {
    throw new AppError(FILE_CODES.upload_missing, `file ${id} was never uploaded; register it again in a new batch`);
  }
  await retry(deps, log, { ...asked, itemId: id });
  await forgetWarning(deps.pool, id);
}
