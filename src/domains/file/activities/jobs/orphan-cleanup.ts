import { performance } from 'node:perf_hooks';
import { z } from 'zod';
import { messageOf } from '../../../../core/errors.js';
import { areZero, type JobCounts, type JobCursor } from '../../../../core/jobs.js';
import { databaseFaultOf } from '../../../../db/postgres/database-fault.js';
import type { JobPage, PageAnswer, PageContext } from '../../../../ports/job.js';
import { abandonedUploads } from './abandoned-uploads.js';
import { oldFailures } from './old-failures.js';
import { orphanBlobs } from './orphan-blobs.js';
import type { CleaningDeps } from './settle-upload.js';

export interface CleanupDeps extends CleaningDeps {
  settings: { abandonedAfterMs: number; failedKeptDays: number };
  /** Instead of a day. */
  graceMs?: number;
  /** Blobs of one page of the store, instead of a thousand. */
  listed?: number;
}

interface ScopeTurn {
  at: JobCursor;
  isDryRun: boolean;
  page: PageContext;
}

interface ScopeAnswer {
  counts: { [name: string]: number };
  errors: string[];
  /** Null: the scope is done, or `isStopped`. */
  next: JobCursor;
  /** The store does not answer, so something is left for another run. */
  isStopped: boolean;
}

/** A part of the clean-up. It works until it is done or the page's time is up. */
export type Scope = (deps: CleanupDeps, turn: ScopeTurn) => Promise<ScopeAnswer>;

const SCOPES = { orphanBlobs, abandonedUploads, oldFailures } as const satisfies Record<string, Scope>;
type ScopeName = keyof typeof SCOPES;
const NAMES = ['orphanBlobs', 'abandonedUploads', 'oldFailures'] as const satisfies readonly ScopeName[];

/** `dryRun`: counts and reports, and changes nothing. `scopes`: these alone; without it, all. */
const Input = z.object({ dryRun: z.boolean().default(false), scopes: z.array(z.enum(NAMES)).optional() });

const Place = z.object({ scope: z.enum(NAMES), at: z.json() });

/** The job that removes what uploads leave behind, scope after scope. A scope that fails is reported and the next goes on. */
export function createOrphanCleanupPage(deps: CleanupDeps): JobPage {
  return async (page) => {
    const begunAt = performance.now();
    const { dryRun: isDryRun, scopes = NAMES } = Input.parse(page.input);
    const place = page.cursor === null ? null : Place.parse(page.cursor);
    const names = NAMES.filter((name) => scopes.includes(name));
    const left = place === null ? names : names.slice(Math.max(0, names.indexOf(place.scope)));
    const did: Done[] = [];
    for (const name of left) {
      const at = place?.scope === name ? place.at : null;
      const done = await clean(name, page, () => SCOPES[name](deps, { at, isDryRun, page }));
      did.push(done);
      if (done.next !== null) return { ...answerOf(did, begunAt), next: { scope: name, at: done.next } };
      page.beat();
    }
    return { ...answerOf(did, begunAt), last: true, isWhole: !did.some(({ isStopped }) => isStopped) };
  };
}

interface Done extends ScopeAnswer {
  name: ScopeName;
  ms: number;
}

async function clean(name: ScopeName, { signal }: PageContext, work: () => Promise<ScopeAnswer>): Promise<Done> {
  const begunAt = performance.now();
  const timed = (answer: ScopeAnswer): Done => ({ ...answer, name, ms: Math.round(performance.now() - begunAt) });
  try {
    return timed(await work());
  } catch (error) {
    // Without a database every scope would fail: the page is tried again.
    if (signal.aborted || databaseFaultOf(error) === 'away') throw error;
    return timed({ counts: {}, errors: [messageOf(error)], next: null, isStopped: true });
  }
}

function answerOf(did: readonly Done[], begunAt: number): Pick<PageAnswer, 'counts' | 'errors' | 'phases' | 'isIdle'> {
  const counts: JobCounts = Object.fromEntries(did.map((each) => [each.name, each.counts]));
  const errors = did.flatMap((each) => each.errors.map((error) => `${each.name}: ${error}`));
  return {
    counts: { ...counts, executionTime: Math.round(performance.now() - begunAt) },
    errors,
    phases: Object.fromEntries(did.map(({ name, ms }) => [name, ms])),
    isIdle: areZero(counts) && errors.length === 0,
  };
}
