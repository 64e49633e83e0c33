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

export interface Silence {
  /** The last sign of life. */
  since: Date;
  /** The item is stale from then on, unless it gives a sign of life before. */
  staleAt: Date;
}

/** How long the item has been silent. Null: its silence is expected, or this version does not know its pipeline. */
export function silenceOf(facts: Facts, { reason }: Pick<Diagnosis, 'reason'>): Silence | null {
  if (!facts.pipeline || MEANT.includes(reason)) return null;
  const since = lastSignOf(facts);
  return { since, staleAt: new Date(since.getTime() + msOf(facts.pipeline.sweep.staleAfter)) };
}

/** The item's staleness; null as soon as the item moves or beats. */
export function stalenessOf(facts: Facts, diagnosis: Diagnosis = diagnose(facts)): Staleness | null {
  const silence = silenceOf(facts, diagnosis);
  if (!silence || facts.now < silence.staleAt) return null;
  const { since } = silence;
  const stage = facts.running?.stage ?? facts.waiting?.stage ?? null;
  return { stale: true, since, stage, message: diagnosis.sentence, diagnosis };
}
