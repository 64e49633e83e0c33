import type { ItemAnswer } from '../../src/api/items/item-schema.js';
import type { Reason } from '../../src/core/diagnosis.js';
import type { Field } from './field.js';

/** One fault with its label: how it is really made, how a tester knows that it is there without asking the product, how it
 *  ends, and everything that the product must say and do about it. */
export interface FaultCase {
  reason: Reason;
  /** What is done, in a few words. */
  name: string;
  /** Rests on a table made for this test, because no shipped pipeline has such a state. */
  onTestPipeline?: true;
  /** Makes the fault; comes back when it is there. In a group with a damage of its own this comes after it. */
  create(field: Field, before: Before): Promise<Victim>;
  /** Before the group's damage is done: the item it shall meet. */
  prepare?(field: Field): Promise<string>;
  /** Whether the fault is there, read past everything that diagnoses: an answer counts only while it is. A number says which it is,
   *  where one follows another: between the two the item may well be something else. */
  holds(field: Field, victim: Victim): Promise<boolean | number>;
  /** What a person does about it, where somebody must. */
  heals?(field: Field, victim: Victim): Promise<unknown>;
  /** What may be said before it is seen, and how long that may take from the moment it was made. Any other answer counts as a
   *  mistake from the first on, and so does every one after that time. */
  before: readonly Reason[];
  seenWithinMs: number;
  /** Lists are compared with the page only where a sweep has stored a reason, because the search index does not know a wedged run. */
  isListedOnceSwept?: true;
  /** Held for so long that the item was stuck, and where a sweep can run, until one has passed that saw it so. */
  heldUntil?: 'stuck' | 'swept';
  expects: Expectation;
}

/** What there was before a case makes its fault. */
export interface Before {
  /** The item that was prepared; empty if none was. */
  prepared: string;
  /** When the group's damage began. */
  struckAt: number;
}

export interface Victim {
  id: string;
  /** When the fault was made. */
  at: number;
  /** Items that make the fault. */
  others?: readonly string[];
}

export interface Expectation {
  sentence: RegExp;
  evidence: Readonly<Record<string, Wanted>>;
  nextAction: string;
  /** `ahead` of the moment in which it was asked; `due`, or come so lately that who does it may still be on its way. */
  nextAt: 'none' | 'ahead' | 'due' | ((nextAt: string | null, item: ItemAnswer) => boolean);
  /** Where the item is in the end. */
  ends: string;
  /** Its receipts, oldest first; none where nothing had to be done, or nothing may be. */
  receipts: readonly WantedReceipt[];
  /** As right, where either of two may be the first to act. */
  orReceipts?: readonly WantedReceipt[];
  /** Its audit entries, oldest first, as `trigger (type of actor)`. */
  trail: readonly string[];
  /** As right, together with `orReceipts` alone. */
  orTrail?: readonly string[];
  /** An entry that may stand in the trail once besides, because a sweep may act in between. */
  mayTrail?: string;
  /** The effects its stages left, each once. */
  effects: readonly string[];
  /** The kind of the notification that somebody gets. */
  notifies?: string;
}

export type Wanted = string | number | boolean | null | RegExp | ((value: unknown) => boolean);

export interface WantedReceipt {
  reason: Reason;
  /** As right, where two things may happen that cost the item the same. */
  orReason?: Reason;
  actorType: 'system' | 'admin';
  result: 'moving' | 'parked';
  stagesAgain: readonly string[];
}

/** Cases that are played side by side, after one damage that concerns them all, if there is one. */
export interface Group {
  name: string;
  cases: readonly FaultCase[];
  strike?(field: Field): Promise<unknown>;
  mend?(field: Field): Promise<unknown>;
}

export const SUBMITTED = 'submitted (admin)';

/** The moves of a canary that nobody disturbs. */
export const WALKED = [SUBMITTED, 'first-done (worker)', 'second-done (worker)', 'third-done (worker)'] as const;
export const STAGES = ['first', 'second', 'third'] as const;

/** The moves of a canary that was rescued while it ran its first stage. */
export function walkedWith(...recoveries: string[]): string[] {
  return [SUBMITTED, ...recoveries, ...WALKED.slice(1)];
}
