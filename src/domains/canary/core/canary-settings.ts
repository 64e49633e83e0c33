import type { ErrorClass } from '../../../core/error-class.js';

/** What a canary was asked to do. */
export interface CanarySettings {
  stageMs: number[];
  units: number;
  decision: boolean;
  faults: Fault[];
}

export const FAULT_KINDS = ['fail', 'hang', 'kill', 'freeze', 'freezeInCommit'] as const;
export const FAULT_STAGES = ['first', 'spread', 'second', 'third'] as const;

export type Fault = AttemptFault | Outage;

interface FaultOfStage {
  stage: (typeof FAULT_STAGES)[number];
  /** Of a fan-out: only this unit. */
  unit?: string | undefined;
}

export interface AttemptFault extends FaultOfStage {
  kind: (typeof FAULT_KINDS)[number];
  /** On which attempt at the task, counted from 1. */
  attempt: number;
}

/** Something the stage needs is down, and fails every attempt, for as long as another item lives: a canary that awaits its
 *  decision is the outage, and deciding or cancelling it the repair. So a drill's outage needs no switch of its own, is seen
 *  and audited as any item, and is over for exactly those who were told of it. */
export interface Outage extends FaultOfStage {
  kind: 'failWhile';
  item: string;
  class: ErrorClass;
}
