import { type Facts, lastSignOf } from './diagnosis.js';

/** The engine's answer about a run. */
export type RunLook = { is: 'alive'; wedgedBy: string | null } | { is: 'gone'; how: string } | { is: 'unknown' };

export type EngineFacts = Pick<Facts, 'engine' | 'wedgedBy' | 'closedAs'>;

/** The engine's answer as facts of a diagnosis. */
export function engineFactsOf(look: RunLook): EngineFacts {
  if (look.is === 'gone') return { engine: 'gone', closedAs: look.how };
  if (look.is === 'unknown' || look.wedgedBy === null) return { engine: look.is };
  return { engine: 'alive', wedgedBy: look.wedgedBy };
}

/** A run is in the search index a moment after its start, and seconds after it while Temporal is busy. A run that is not there this
 *  long after the item last changed does not exist. */
const INDEXED_WITHIN_MS = 30_000;

interface IndexedRow extends Pick<Facts, 'now' | 'running'> {
  item: Facts['item'] & { updatedAt: Date };
  /** The sweep's finding, if the item has not changed since. */
  swept: { wedgedBy: string | null } | null;
}

/** The answer of the engine's search index as facts of a diagnosis. Undefined: the index does not list the run. Only the sweep asks the
 *  engine itself, so a list knows from the sweep that a run is wedged. */
export function indexedFactsOf(
  found: { is: 'alive' } | { is: 'gone'; how: string } | undefined,
  row: IndexedRow,
): EngineFacts {
  if (found?.is === 'gone') return engineFactsOf(found);
  if (found) return engineFactsOf({ is: 'alive', wedgedBy: row.swept?.wedgedBy ?? null });
  const changedAt = [lastSignOf(row), row.item.updatedAt, row.item.acceptedAt ?? row.item.updatedAt];
  const sinceMs = row.now.getTime() - Math.max(...changedAt.map((each) => each.getTime()));
  return sinceMs < INDEXED_WITHIN_MS ? {} : engineFactsOf({ is: 'gone', how: 'never_existed' });
}
