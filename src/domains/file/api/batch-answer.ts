import type { z } from 'zod';
import type { Pipeline } from '../../../core/pipeline.js';
import type { Batch } from '../db/batches.js';
import type { ListedFile } from '../db/files.js';
import type { BatchLine, FileLine } from './upload-schema.js';

export function fileLine(file: ListedFile): z.output<typeof FileLine> {
  const { id, batchId, clientId, name, mimeType, sizeBytes, state, error } = file;
  return {
    id,
    batchId,
    clientId,
    name,
    mimeType,
    sizeBytes,
    state,
    createdAt: file.createdAt.toISOString(),
    confirmedAt: file.confirmedAt?.toISOString() ?? null,
    endedAt: file.endedAt?.toISOString() ?? null,
    error,
  };
}

/** `counted` has the states that files are in. The answer has all states. */
export function batchLine(
  batch: Batch,
  counted: Readonly<Record<string, number>>,
  { states }: Pipeline,
): z.output<typeof BatchLine> {
  return {
    batchId: batch.id,
    status: batch.status,
    createdAt: batch.createdAt.toISOString(),
    expiresAt: batch.expiresAt.toISOString(),
    endedAt: batch.endedAt?.toISOString() ?? null,
    metadata: batch.metadata,
    fileCount: batch.files,
    unconfirmed: batch.unconfirmed,
    states: Object.fromEntries(Object.keys(states).map((state) => [state, counted[state] ?? 0])),
  };
}
