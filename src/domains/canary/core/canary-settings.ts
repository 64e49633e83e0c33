import type { ErrorClass } from '../../../core/error-class.js';

/** The settings of a canary: how long its stages take, and the faults that happen on purpose. */
export interface CanarySettings {
  stageMs: number[];
  units: number;
  decision: boolean;
  faults: Fault[];
}

/** `spin` never gives the event loop back. `eat` allocates without end. */
export const FAULT_KINDS = ['fail', 'hang', 'kill', 'freeze', 'freezeInCommit', 'spin', 'eat'] as const;
export const FAULT_STAGES = ['first', 'spread', 'second', 'third'] as const;

export type Fault = AttemptFault | Outage;

interface FaultOfStage {
  stage: (typeof FAULT_STAGES)[number];
  /** Of a fan-out, only this unit fails. Without it, every unit does. */
  unit?: string | undefined;
}

export interface AttemptFault extends FaultOfStage {
  kind: (typeof FAULT_KINDS)[number];
  /** The attempt at the task that fails, counted from 1. */
  attempt: number;
}

/** An outage: every attempt fails as long as another item is live. That item is a canary that awaits its decision, and
 *  deciding or cancelling it ends the outage. So an outage needs no switch of its own, it is shown and audited like any
 *  item, and it affects only the canaries that name it. */
export interface Outage extends FaultOfStage {
  kind: 'failWhile';
  item: string;
  class: ErrorClass;
}
