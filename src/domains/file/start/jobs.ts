import type { JobPart, JobParts } from '../../../ports/job.js';
import type { CleaningDeps } from '../activities/jobs/settle-upload.js';
import type { CleanUpSettings } from '../config/clean-up-settings.js';

/** Of their own, because a blob store may hang. */
const QUEUE = 'files';

interface Settings {
  cleanUp: CleanUpSettings;
}

export const fileJobs: readonly JobPart<Settings>[] = [
  {
    name: 'orphan-cleanup',
    queue: QUEUE,
    schedule: ({ cleanUp }) => ({ when: cleanUp.orphanCleanupWhen, input: {} }),
    async create(parts, { cleanUp }) {
      const { createOrphanCleanupPage } = await import('../activities/jobs/orphan-cleanup.js');
      return createOrphanCleanupPage({ ...(await cleaningDepsOf(parts)), settings: cleanUp });
    },
  },
  {
    name: 'batch-timeout',
    queue: QUEUE,
    schedule: ({ cleanUp }) => ({ when: cleanUp.batchTimeoutWhen, input: {} }),
    async create(parts) {
      const { createBatchTimeoutPage } = await import('../activities/jobs/batch-timeout.js');
      return createBatchTimeoutPage(await cleaningDepsOf(parts));
    },
  },
  {
    name: 'file-deletion',
    queue: QUEUE,
    // Soon after a store is back, and a look at an empty index where nothing is to be deleted.
    schedule: () => ({ when: { every: '1m' }, input: {} }),
    async create(parts) {
      const { createFileDeletionPage } = await import('../activities/jobs/file-deletion.js');
      return createFileDeletionPage(await cleaningDepsOf(parts));
    },
  },
];

/** The store is opened by the first call, so that a store which is away fails a page and not the start of the process. */
async function cleaningDepsOf({ pool, pipelines, blobs, logger }: JobParts): Promise<CleaningDeps> {
  const { limitBlobCalls } = await import('../activities/jobs/limit-blob-calls.js');
  const pipeline = pipelines['file'];
  if (!pipeline) throw new Error('the pipeline of files is missing');
  const store = limitBlobCalls({
    find: async (key) => (await blobs()).find(key),
    list: async (page) => (await blobs()).list(page),
    delete: async (key) => (await blobs()).delete(key),
  });
  return { pool, pipeline, store, logger };
}
