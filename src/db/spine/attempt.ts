import type { ErrorClass } from '../../core/error-class.js';
import type { StageResult } from '../../ports/stage.js';
import type { ItemError } from './transition.js';

/** One try at a task, as the runner knows it before it claims. */
export interface Attempt {
  itemId: string;
  visit: number;
  epoch: number;
  state: string;
  stage: string;
  unit: string;
  /** Made by the runner, so that it can ask again under the same id when the claim or the answer to it is lost. */
  claimId: string;
  token: Uint8Array | null;
  /** When Temporal scheduled this attempt, by its clock: a later attempt at the task has a later time. Null: not known. */
  scheduledAt: Date | null;
  /** Whether Temporal has handed the task out before: the worker that had it may have died of it. */
  isRetried: boolean;
  worker: string;
  /** How many stages this worker runs at once in processes of their own. */
  places: number;
}

/** A claimed attempt. Every later write must still find its fence and its claim's id on the task. */
export interface Claimed extends Attempt {
  fence: number;
  attempt: number;
  errors: number;
  checkpoint: unknown;
  owner: string;
  /** The stage runs in a process of its own, because the task is a suspect. */
  isolated?: true;
  /** The breakers that let the attempt through. Its ending tells them how it went. */
  passes?: Pass[];
}

export interface Pass {
  class: ErrorClass;
  round: number;
}

/** How an attempt ended. */
export type Ending =
  | ({ is: 'done' } & StageResult)
  | { is: 'error'; error: ItemError; retryInMs: number }
  /** The process of an isolated stage did not start. The stage never began, so no try is spent and no breaker counts it. */
  | { is: 'unbegun'; error: ItemError; retryInMs: number }
  /** The last try failed. The stage's row says whether the item moves, skips the stage or is left to the sweep. */
  | { is: 'spent'; error: ItemError }
  /** The attempt gave its task back, which costs the task nothing. */
  | { is: 'released'; why: ReleasedWhy };

/** The worker shuts down, the run was cancelled, or Temporal was away for too long and has given the attempt up. */
export type ReleasedWhy = 'shutdown' | 'cancelled' | 'lost_sight';

export function taskKey(attempt: Attempt): [string, number, string, string] {
  return [attempt.itemId, attempt.visit, attempt.stage, attempt.unit];
}
