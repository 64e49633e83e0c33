import { pino } from 'pino';
import type { CleanupDeps } from '../../../../src/domains/file/activities/jobs/orphan-cleanup.js';
import { createOrphanCleanupPage } from '../../../../src/domains/file/activities/jobs/orphan-cleanup.js';
import { file } from '../../../../src/domains/file/table.js';
import type { PageContext } from '../../../../src/ports/job.js';
import { turnPages } from '../../../support/job-pages.js';
import type { Spine } from '../../../support/spine.js';
import { createMemoryBlobStore, type MemoryBlobStore } from './memory-blob-store.js';

export interface Cleaning {
  store: MemoryBlobStore;
  deps: CleanupDeps;
  /** Runs the whole job and answers its counts and errors. */
  clean(told?: Partial<PageContext>): Promise<{ counts: Record<string, unknown>; errors: string[] }>;
}

/** The clean-up of a test, with a store of its own. */
export function useCleaning({ pool }: Pick<Spine, 'pool'>, given: Partial<CleanupDeps> = {}): Cleaning {
  const store = createMemoryBlobStore();
  const settings = { abandonedAfterMs: 86_400_000, failedKeptDays: 30 };
  const deps: CleanupDeps = { pool, store, pipeline: file, settings, logger: pino({ level: 'silent' }), ...given };
  return {
    store,
    deps,
    async clean(told = {}) {
      const { record } = await turnPages(createOrphanCleanupPage(deps), told);
      return { counts: record.counts, errors: record.errors };
    },
  };
}
