import { z } from 'zod';
import type { JobCursor } from '../../../../core/jobs.js';
import type { JobPage, PageContext } from '../../../../ports/job.js';
import { expireBatches, type ExpiredBatch, listToSettle } from '../../db/batch-timeouts.js';
import { listUnconfirmedOf, type UnconfirmedFile } from '../../db/unconfirmed-files.js';
import { type CleaningDeps, settleUpload } from './settle-upload.js';
import { workThrough } from './work-through.js';

/** A statement over so many batches takes some milliseconds. */
const BATCH = 200;

const Batch = z.object({ id: z.uuid(), at: z.string() });

/** The run's place: the last batch whose files are settled, and the facts that its average age is made of. */
const Place = z.object({
  run: z.string(),
  batch: Batch.nullable(),
  expired: z.int(),
  ageMs: z.number(),
  told: z.int(),
});
type Place = z.output<typeof Place>;

/** The job that expires batches whose time is over, and ends the wait of their files. Batches are expired first, so that no owner
 *  confirms a file that is being deleted. A run that dies leaves the others to the next: an expired batch says how many of its files
 *  are unconfirmed. */
export function createBatchTimeoutPage(deps: CleaningDeps): JobPage {
  return async (page) => {
    const run = page.startedAt.toISOString();
    const place = placeOf(page.cursor, run);
    const ages = await expireDue(deps, page);
    const files = { deletedFiles: 0, queuedFiles: 0 };
    const walked = await workThrough<ExpiredBatch, ExpiredBatch & { [key: string]: string }>(
      {
        from: place.batch,
        list: (behind, limit) => listToSettle(deps.pool, { behind, limit }),
        placeOf: ({ id, at }) => ({ id, at }),
        work: (batch) => settleFiles(deps, batch, { page, files }),
      },
      page,
    );
    const expired = place.expired + ages.length;
    const ageMs = place.ageMs + ages.reduce((sum, each) => sum + each, 0);
    const average = expired === 0 ? 0 : Math.round(ageMs / expired);
    // The counts of pages are added up, so a page adds what the average has changed by.
    const counts = { expiredBatches: ages.length, ...files, averageBatchAge: average - place.told };
    const did = { counts, errors: walked.errors };
    if (walked.next === null) return { ...did, last: true, isWhole: !walked.isStopped };
    return { ...did, next: { run, batch: walked.next, expired, ageMs, told: average } };
  };
}

function placeOf(cursor: JobCursor, run: string): Place {
  const place = Place.safeParse(cursor).data;
  const batch = place?.batch ?? null;
  return place?.run === run ? place : { run, batch, expired: 0, ageMs: 0, told: 0 };
}

async function expireDue({ pool, logger }: CleaningDeps, { beat, signal }: PageContext): Promise<number[]> {
  const ages: number[] = [];
  for (;;) {
    signal.throwIfAborted();
    const more = await expireBatches(pool, BATCH);
    beat();
    ages.push(...more);
    if (more.length < BATCH) break;
  }
  if (ages.length > 0) logger.warn({ expired: ages.length }, 'upload batches expired');
  return ages;
}

interface Settling {
  page: PageContext;
  files: { deletedFiles: number; queuedFiles: number };
}

/** A batch has 500 files at most, so it is settled whole, whatever time it is. */
async function settleFiles(
  deps: CleaningDeps,
  { id: batchId }: ExpiredBatch,
  { page, files }: Settling,
): Promise<void> {
  const { errors } = await workThrough<UnconfirmedFile, string>(
    {
      from: null,
      list: (behind, limit) => listUnconfirmedOf(deps.pool, { batchId, behind, limit }),
      placeOf: ({ id }) => id,
      async work(file) {
        const settled = await settleUpload(deps, file);
        if (settled === 'deleted') files.deletedFiles += 1;
        if (settled === 'queued') files.queuedFiles += 1;
      },
    },
    { ...page, deadline: new Date(8.64e15) },
  );
  if (errors.length > 0) throw new Error(`${errors.length} files, the first: ${errors[0] ?? ''}`);
}
