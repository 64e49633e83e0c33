import { setTimeout as pause } from 'node:timers/promises';
import type { Outcome } from './report.js';
import type { ProgressDisplay } from './show-progress.js';
import type { FileProgress, Upload, UploadApi } from './upload-api.js';

/** One request shows a batch of up to 500 files, so this stays far below the API's limit for one caller. */
const LOOK_EVERY_MS = 1_000;

/** Tells each file's moves until all are ready or failed. */
export async function followUploads(
  api: Pick<UploadApi, 'progressOf' | 'adviceFor'>,
  uploads: readonly Upload[],
  display: ProgressDisplay,
): Promise<Outcome[]> {
  const told = new Map<string, string>();
  for (;;) {
    const seen = await lookAt(api, uploads);
    const counts: Record<string, number> = {};
    for (const { fileId, file } of uploads) {
      const state = seen.get(fileId)?.state ?? 'deleted';
      counts[state] = (counts[state] ?? 0) + 1;
      if (told.get(fileId) !== state) display.say(`  ${state.padEnd(10)} ${file.name}`);
      told.set(fileId, state);
    }
    display.states(counts);
    const isOver = uploads.every(({ fileId }) => seen.get(fileId)?.endedAt !== null);
    if (isOver) return Promise.all(uploads.map((upload) => outcomeOf(api, upload, seen.get(upload.fileId))));
    await pause(LOOK_EVERY_MS);
  }
}

async function lookAt(
  api: Pick<UploadApi, 'progressOf'>,
  uploads: readonly Upload[],
): Promise<Map<string, FileProgress>> {
  const batches = [...new Set(uploads.map(({ batchId }) => batchId))];
  const files = await Promise.all(batches.map((batchId) => api.progressOf(batchId)));
  return new Map(files.flat().map((file) => [file.id, file]));
}

async function outcomeOf(
  api: Pick<UploadApi, 'adviceFor'>,
  { file, fileId }: Upload,
  seen: FileProgress | undefined,
): Promise<Outcome> {
  const { name, sizeBytes } = file;
  if (!seen) return { name, sizeBytes, fileId, state: 'deleted', why: 'somebody deleted it meanwhile' };
  const { state, error } = seen;
  if (state === 'ready') return { name, sizeBytes, fileId, state, why: null };
  const advice = await api.adviceFor(fileId);
  return { name, sizeBytes, fileId, state, why: [error, advice].filter((each) => each !== null).join(' → ') };
}
