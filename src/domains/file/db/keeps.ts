import { AGO } from '../../../db/recovery/retention.js';
import type { RetentionPart } from '../../../ports/job.js';

export interface FileKept {
  cleanUp: { batchesKeptMs: number };
}

/** A batch that still has files shows where they came from, however old they are. */
const EMPTY = `status <> 'active' AND ended_at < ${AGO} AND NOT EXISTS (SELECT 1 FROM files f WHERE f.batch_id = old.id)`;

export const fileKeeps: readonly RetentionPart<FileKept>[] = [
  { name: 'uploadBatches', keptMs: ({ cleanUp }) => cleanUp.batchesKeptMs, table: 'upload_batches', isOld: EMPTY },
];
