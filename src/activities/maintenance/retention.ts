import { performance } from 'node:perf_hooks';
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

/** Removes old rows part by part, batch after batch: a page is long, so that the history does not grow with the rows. The cursor is
 *  the part that the page has come to. A part that fails does not keep the others. */
export function createRetentionPage(sql: Sql, retained: readonly Retained[], rows = BATCH_ROWS): JobPage {
  return async (page) => {
    const counted: Counted = { counts: {}, phases: {}, errors: [] };
    // A part that a new version no longer has: all are looked through once more.
    const begin = Math.max(
      0,
      retained.findIndex(({ part }) => part.name === page.cursor),
    );
    for (const each of retained.slice(begin)) {
      if (!(await removePart(sql, each, { page, counted, rows }))) return { ...counted, next: each.part.name };
    }
    return { ...counted, last: true };
  };
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
