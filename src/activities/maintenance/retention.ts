import { performance } from 'node:perf_hooks';
import { z } from 'zod';
import type { JobCursor } from '../../core/jobs.js';
import { databaseFaultOf } from '../../db/postgres/database-fault.js';
import { removeBatch } from '../../db/recovery/retention.js';
import type { JobPage, PageContext, RetentionPart } from '../../ports/job.js';
import type { Sql } from '../../ports/sql.js';
import { retryPatiently } from '../patience.js';

/** A part of retention with its span of time. */
export interface Retained {
  part: RetentionPart;
  keptMs: number;
}

/** A statement over this many rows takes well under a second and holds few locks. */
const BATCH_ROWS = 1_000;

interface Counted {
  counts: Record<string, number>;
  phases: Record<string, number>;
  errors: string[];
}

/** When the run began, the part that it began with, and the part that it has come to. */
const Place = z.object({ run: z.string(), first: z.string(), at: z.string() });

/** Removes old rows part by part, batch after batch: a page is long, so that the history does not grow with the rows. A part that fails
 *  does not keep the others. */
export function createRetentionPage(sql: Sql, retained: readonly Retained[], rows = BATCH_ROWS): JobPage {
  return async (page) => {
    const counted: Counted = { counts: {}, phases: {}, errors: [] };
    const run = page.startedAt.toISOString();
    const { round, left } = partsLeft(retained, page.cursor, run);
    const first = round[0]?.part.name ?? '';
    for (const each of left) {
      const isDone = await removePart(sql, each, { page, counted, rows });
      if (!isDone) return { ...counted, next: { run, first, at: each.part.name } };
    }
    return { ...counted, last: true };
  };
}

/** A run goes once round all parts. It begins with the part after the one at which the run before stopped, so that a part which takes
 *  the time of every run leaves the others their turn. A part that this version does not have counts as the one before the first. */
function partsLeft(retained: readonly Retained[], cursor: JobCursor, run: string): PartsLeft {
  const place = Place.safeParse(cursor).data;
  const isOfRun = place?.run === run;
  const indexOf = (name: string | undefined) => retained.findIndex(({ part }) => part.name === name);
  const begin = isOfRun ? Math.max(0, indexOf(place.first)) : (indexOf(place?.at) + 1) % retained.length;
  const round = [...retained.slice(begin), ...retained.slice(0, begin)];
  const at = isOfRun ? round.findIndex(({ part }) => part.name === place.at) : 0;
  return { round, left: round.slice(Math.max(0, at)) };
}

interface PartsLeft {
  /** In the order of this run. */
  round: readonly Retained[];
  left: readonly Retained[];
}

interface Turn {
  page: PageContext;
  counted: Counted;
  rows: number;
}

/** False: the time is up, and old rows may be left. */
async function removePart(sql: Sql, { part, keptMs }: Retained, { page, counted, rows }: Turn): Promise<boolean> {
  const { name } = part;
  const most = Math.min(rows, part.batchRows ?? rows);
  const begunAt = performance.now();
  counted.counts[name] = 0;
  try {
    for (;;) {
      const count = await retryPatiently(() => removeBatch(sql, part, keptMs, most), undefined, page);
      counted.counts[name] += count;
      page.beat();
      page.signal.throwIfAborted();
      if (count < most) return true;
      if (Date.now() >= page.deadline.getTime()) return false;
    }
  } catch (error) {
    // Without a database every part would fail: the page is tried again.
    if (page.signal.aborted || databaseFaultOf(error) === 'away') throw error;
    counted.errors.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    return true;
  } finally {
    counted.phases[name] = Math.round(performance.now() - begunAt);
  }
}
