import type { ErrorClass } from '../../core/error-class.js';

/** One try at a task, as the runner knows it before it claims. */
export interface Attempt {
  itemId: string;
  visit: number;
  epoch: number;
  state: string;
  stage: string;
  unit: string;
  /** Made by the runner: a claim that was lost, or whose answer was, can be asked for again. */
  claimId: string;
  token: Uint8Array | null;
  /** When Temporal scheduled this attempt, by its clock: a later attempt at the task has a later time. Null: not known. */
  scheduledAt: Date | null;
  /** Whether Temporal has handed it out before: whoever had it then may have died of it. */
  isRetried: boolean;
  worker: string;
}

/** A claimed attempt. Its fence and its claim's id are what every later write must still find. */
export interface Claimed extends Attempt {
  fence: number;
  attempt: number;
  errors: number;
  checkpoint: unknown;
  owner: string;
  /** The breakers that let it through; its ending tells them how it went. */
  passes?: Pass[];
}

export interface Pass {
  class: ErrorClass;
  round: number;
}

export function taskKey(attempt: Attempt): [string, number, string, string] {
  return [attempt.itemId, attempt.visit, attempt.stage, attempt.unit];
}
