import type { OfInstallation } from './installation.js';
import type { PriorityKey } from './priority.js';
import type { Step } from './step.js';

/** Identifies one run. */
export interface RunRef {
  pipeline: string;
  itemId: string;
  epoch: number;
}

export interface RunInput extends RunRef, OfInstallation {
  step: Step;
  /** The level that the run was told last, before it continued as new; without it, the level of its start. */
  priorityKey?: PriorityKey;
  /** After so many units the run continues as new, with an empty history; without it, the run's own limit holds. */
  unitsPerRun?: number;
}

/** What the start of a run takes: the workflow's input, and the facts that its place among waiting runs is made of. */
export interface RunStart extends RunInput {
  owner: string;
  /** Of the item's row. */
  priority: number;
}

/** One id per epoch, because an id per item would swallow rescues and restart finished items. */
export function workflowIdOf({ pipeline, itemId, epoch }: RunRef): string {
  return `${pipeline}:${itemId}:${epoch}`;
}

/** The run with this id; null: the id is not of an item's run. */
export function runOfWorkflowId(id: string): RunRef | null {
  const [, pipeline, itemId, epoch] = /^([^:]+):([0-9a-f-]{36}):(\d+)$/.exec(id) ?? [];
  return pipeline && itemId ? { pipeline, itemId, epoch: Number(epoch) } : null;
}

/** A run as its workflow names it to activities: with the installation that started it, so that a worker of another installation
 *  refuses them. */
export type OwnRun = RunRef & OfInstallation;

/** The input of a stage's activity. It holds ids only, because contents stay in the database. */
export interface StageInput extends RunRef, OfInstallation {
  visit: number;
  state: string;
  stage: string;
  unit: string;
  withinMs: number;
  beatsMs: number;
}

/** The activities that every pipeline's worker has besides its stages. */
export interface RunActivities {
  nextStep(run: OwnRun): Promise<Step>;
  /** Records in the item's row that the run ends without a final state. */
  endRun(run: OwnRun): Promise<void>;
}

/** The time between the runner's limit on a stage and Temporal's limit: enough to claim before the stage and commit
 *  after it on a slow database. It may be long, because heartbeats and not this limit show whether the worker lives. */
export const STAGE_GRACE_MS = 30_000;
