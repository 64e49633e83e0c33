/** What a canary was asked to do. */
export interface CanarySettings {
  stageMs: number[];
  units: number;
  decision: boolean;
  faults: Fault[];
}

export const FAULT_KINDS = ['fail', 'hang', 'kill', 'freeze', 'freezeInCommit'] as const;
export const FAULT_STAGES = ['first', 'spread', 'second', 'third'] as const;

export interface Fault {
  stage: (typeof FAULT_STAGES)[number];
  /** On which attempt at the task, counted from 1. */
  attempt: number;
  kind: (typeof FAULT_KINDS)[number];
  /** Of a fan-out: only this unit. */
  unit?: string | undefined;
}
