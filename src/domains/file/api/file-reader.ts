import type { Caller } from '../../../api/http/auth.js';
import { answerFor, type ReaderDeps } from '../../../api/items/item-reader.js';
import type { ItemAnswer } from '../../../api/items/item-schema.js';
import { findQueuePlace } from '../../../api/items/queue-place.js';
import { adviceFor } from '../core/file-advice.js';
import type { FileRecord } from '../db/files.js';
import type { FileAnswer } from './file-schema.js';
import { findSeenFile } from './own-file.js';

/** The whole answer to a caller who may see the file. */
export async function answerForFile(deps: ReaderDeps, caller: Caller, id: string): Promise<FileAnswer> {
  // Looks first at the file alone, so that a foreign id costs the same statement as an unknown id.
  const file = await findSeenFile(deps.pool, caller, id);
  const item = await answerFor(deps, caller, id);
  const queue = await findQueuePlace(deps, item);
  const { timeline, timelineTruncated, ...rest } = item;
  const { batchId, clientId, name, mimeType, sizeBytes, sha256, format, pages, width, height, language } = file;
  const standing = { id, batchId, state: item.state, isEnded: !item.live, isConfirmed: file.confirmedAt !== null };
  const facts = { ...standing, errorClass: item.error?.classification ?? null };
  return {
    ...rest,
    ...{ batchId, clientId, name, mimeType, sizeBytes, sha256, format, pages, width, height, language },
    readiness: { ready: item.state === 'ready', text: file.hasText, chunks: file.chunks },
    timings: timingsOf(file, item),
    queue,
    nextAction: adviceFor(facts) ?? item.diagnosis.nextAction,
  };
}

function timingsOf({ createdAt, confirmedAt }: FileRecord, { endedAt, timeline }: ItemAnswer): FileAnswer['timings'] {
  return {
    registeredAt: createdAt.toISOString(),
    confirmedAt: confirmedAt?.toISOString() ?? null,
    endedAt,
    processingMs: confirmedAt && endedAt !== null ? Date.parse(endedAt) - confirmedAt.getTime() : null,
    stages: timeline.flatMap((line) => {
      if (line.kind !== 'attempt') return [];
      const { stage, attempt, startedAt, at, result } = line;
      return [{ stage, attempt, startedAt, endedAt: at, durationMs: Date.parse(at) - Date.parse(startedAt), result }];
    }),
  };
}
