import { diagnose, type Diagnosis, type Facts, lastSignOf, type Reason } from './diagnosis.js';
import { msOf } from './span.js';

/** The warning to an item's owner: the item has been silent for longer than its pipeline promises. */
export interface Staleness {
  stale: true;
  /** The last sign of life. */
  since: Date;
  /** The stage in which the item stopped; null: between two stages. */
  stage: string | null;
  message: string;
  diagnosis: Diagnosis;
}

/** Reasons for which silence is expected: the item waits for a person or a time, and its diagnosis says so. */
const MEANT: readonly Reason[] = ['finished', 'paused', 'awaiting_decision', 'awaiting_upload', 'not_due'];

/** The item's staleness; null as soon as the item moves or beats. */
export function stalenessOf(facts: Facts, diagnosis: Diagnosis = diagnose(facts)): Staleness | null {
  const since = lastSignOf(facts);
  if (!facts.pipeline || MEANT.includes(diagnosis.reason)) return null;
  if (facts.now.getTime() - since.getTime() < msOf(facts.pipeline.sweep.staleAfter)) return null;
  const stage = facts.running?.stage ?? facts.waiting?.stage ?? null;
  return { stale: true, since, stage, message: diagnosis.sentence, diagnosis };
}
