import type { JobValue } from '../../../../core/jobs.js';
import type { PageContext } from '../../../../ports/job.js';

/** The means of a page that a walk needs. */
export type Watch = Pick<PageContext, 'deadline' | 'signal' | 'beat'>;

export interface Walk<Row, Place extends JobValue> {
  from: Place | null;
  /** The rows behind the place. Fewer than `limit` are the last. */
  list(behind: Place | null, limit: number): Promise<readonly Row[]>;
  placeOf(row: Row): Place;
  /** Its error keeps no other row from being worked on. */
  work(row: Row): Promise<void>;
}

export interface Walked<Place> {
  errors: string[];
  /** Null: no row is left, or `isStopped`. */
  next: Place | null;
  /** The store is away, so rows are left for another run. */
  isStopped: boolean;
}

/** A worker that dies over a batch leaves little undone. */
const BATCH = 100;

/** Rows at once: enough to hide the way to the store, and no more than the connections of the queue bear. */
const AT_ONCE = 4;

/** After so many failures in one batch the store or the database is away, and the rest would only fail as well. */
const MAX_FAILURES = 20;

/** Works through rows in the order of their places, batch after batch, until none is left or the page's time is up. */
export async function workThrough<Row, Place extends JobValue>(
  walk: Walk<Row, Place>,
  watch: Watch,
): Promise<Walked<Place>> {
  const errors: string[] = [];
  let place = walk.from;
  for (;;) {
    const rows = await walk.list(place, BATCH);
    const failures = await workOnBatch(walk, rows, watch);
    errors.push(...failures);
    const last = rows.at(-1);
    if (last) place = walk.placeOf(last);
    const isStopped = failures.length >= MAX_FAILURES;
    if (isStopped || rows.length < BATCH) return { errors, next: null, isStopped };
    if (Date.now() >= watch.deadline.getTime()) return { errors, next: place, isStopped };
  }
}

async function workOnBatch<Row, Place extends JobValue>(
  walk: Walk<Row, Place>,
  rows: readonly Row[],
  { signal, beat }: Watch,
): Promise<string[]> {
  const failures: string[] = [];
  const waiting = [...rows];
  async function lane(): Promise<void> {
    for (let row = waiting.shift(); row; row = waiting.shift()) {
      signal.throwIfAborted();
      beat();
      try {
        await walk.work(row);
      } catch (error) {
        signal.throwIfAborted();
        failures.push(
          `${JSON.stringify(walk.placeOf(row))}: ${error instanceof Error ? error.message : String(error)}`,
        );
        if (failures.length >= MAX_FAILURES) waiting.length = 0;
      }
    }
  }
  // Waits for every lane, because nothing may be written after the page has answered.
  const lanes = await Promise.allSettled(Array.from({ length: AT_ONCE }, lane));
  for (const each of lanes) if (each.status === 'rejected') throw each.reason;
  return failures;
}
