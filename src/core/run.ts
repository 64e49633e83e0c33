import type { Step } from './step.js';

/** What identifies one run. */
export interface RunRef {
  pipeline: string;
  itemId: string;
  epoch: number;
}

export interface RunInput extends RunRef {
  step: Step;
  /** After so many units the history is left behind; without it, the run's own limit holds. */
  unitsPerRun?: number;
}

/** One id per epoch: an id per item would swallow rescues and bring finished items back to life. */
export function workflowIdOf({ pipeline, itemId, epoch }: RunRef): string {
  return `${pipeline}:${itemId}:${String(epoch)}`;
}

/** The run that bears this id; null: it is no run of ours. */
export function runOfWorkflowId(id: string): RunRef | null {
  const [, pipeline, itemId, epoch] = /^([^:]+):([0-9a-f-]{36}):(\d+)$/.exec(id) ?? [];
  return pipeline && itemId ? { pipeline, itemId, epoch: Number(epoch) } : null;
}

/** What a run hands to a stage's activity. Ids only: contents stay in the database. */
export interface StageInput extends RunRef {
  visit: number;
  state: string;
  stage: string;
  unit: string;
  withinMs: number;
  beatsMs: number;
}

/** The activities every pipeline's worker has besides its stages. */
export interface RunActivities {
  nextStep(run: RunRef): Promise<Step>;
  /** The run ends without a final state; its row says so from now on. */
  endRun(run: RunRef): Promise<void>;
}

/** Between the runner's own limit on a stage and Temporal's: time to claim before it and to commit after it, on a database that
 *  is slow. Whether the worker lives is for beats to tell, so there is no haste. */
export const STAGE_GRACE_MS = 30_000;
