import { diagnose, type Diagnosis, type Facts, lastSignOf, type Reason } from './diagnosis.js';
import { msOf } from './span.js';

/** The warning to an item's owner: nothing has been heard of it for longer than its pipeline promises. */
export interface Staleness {
  stale: true;
  /** The last sign of life. */
  since: Date;
  /** Where it stopped; null: between two stages. */
  stage: string | null;
  message: string;
  diagnosis: Diagnosis;
}

/** Silence that is meant: these wait for a person or for a time, and say so by themselves. */
const MEANT: readonly Reason[] = ['finished', 'paused', 'awaiting_decision', 'awaiting_upload', 'not_due'];

/** Null as soon as the item moves or beats. */
export function stalenessOf(facts: Facts, diagnosis: Diagnosis = diagnose(facts)): Staleness | null {
  const since = lastSignOf(facts);
  if (!facts.pipeline || MEANT.includes(diagnosis.reason)) return null;
  if (facts.now.getTime() - since.getTime() < msOf(facts.pipeline.sweep.staleAfter)) return null;
  const stage = facts.running?.stage ?? facts.waiting?.stage ?? null;
  return { stale: true, since, stage, message: diagnosis.sentence, diagnosis };
}
