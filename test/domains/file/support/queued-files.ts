import { randomUUID } from 'node:crypto';
import type { Stage, StageContext } from '../../../../src/ports/stage.js';
import { file } from '../../../../src/domains/file/table.js';
import { byHand, type Spine } from '../../../support/spine.js';

const queued = { ...file, start: 'queued' };

/** A file whose bytes are in the store, in the queue for its stages. */
export async function queueFile(
  { pool }: Spine,
  { name = 'a.txt', sizeBytes }: { name?: string; sizeBytes: number },
): Promise<{ id: string; blobKey: string }> {
  const [batchId, blobKey] = [randomUUID(), `uploads/${randomUUID()}`];
  await pool.query(
    `INSERT INTO upload_batches (id, owner, files, unconfirmed, expires_at) VALUES ($1, 'ada', 1, 0, now() + interval '1 day')`,
    [batchId],
  );
  const row = {
    text: `INSERT INTO files (id, owner, batch_id, client_id, name, mime_type, size_bytes, blob_key)
      SELECT id, owner, $1::uuid, 'a', $2::text, 'text/plain', $3::bigint, $4::text FROM item`,
    values: [batchId, name, sizeBytes, blobKey],
  };
  return { id: await byHand(pool, queued).make({ row }), blobKey };
}

/** Runs a stage as a worker does, and commits its result. Answers the result and what it reported. */
export async function runStage(
  { pool }: Spine,
  id: string,
  {
    stage,
    run,
    signal = new AbortController().signal,
  }: { stage: 'extract' | 'chunk'; run: AnyRun; signal?: AbortSignal },
) {
  const hand = byHand(pool, queued);
  const claimed = await hand.claimed(id, { stage, state: stage === 'extract' ? 'extracting' : 'chunking' });
  const reports: unknown[] = [];
  const context: StageContext = {
    item: { id, pipeline: 'file', owner: 'ada', visit: claimed.visit },
    ...{ unit: '', attempt: 1, checkpoint: null, signal },
    progress: (report) => void reports.push(report),
    keep: () => Promise.resolve(),
  };
  const result = await run(context);
  const commit = () => hand.commit(claimed, { is: 'done', ...result });
  return { result, reports, claimed, hand, commit };
}

type AnyRun = Stage<typeof file, 'extract'> | Stage<typeof file, 'chunk'>;
