import {
  afterStage,
  claimedState,
  type Edge,
  fanOutFedBy,
  isAwaits,
  isDoes,
  isEnd,
  rowOf,
  spentTriggerOf,
  stageOf,
  stagesIn,
  triggerOf,
} from '../../src/core/machine.js';
import type { Pipeline, StageRow } from '../../src/core/pipeline.js';
import { entryStep } from '../../src/core/step.js';

interface Walk {
  moves: Edge[];
  /** Every stage that ran, in order; a fan-out counts as one. */
  stages: string[];
  /** Fan-outs that were begun without anybody having returned their units. */
  unfed: string[];
  endedIn: string;
  /** Spent tries told the run to end; the item is the sweep's now. */
  left: boolean;
}

/** Walks an item through one visit as a run would, by the table alone: `pick` chooses outcomes, decisions and failures. */
export function walk(pipeline: Pipeline, pick: () => number, limit: number): Walk {
  const walked: Walk = { moves: [], stages: [], unfed: [], endedIn: pipeline.start, left: false };
  let fed: string | undefined;

  function move(to: string, trigger: string, via: Edge['via']): void {
    walked.moves.push({ from: walked.endedIn, to, trigger, via });
    walked.endedIn = to;
  }

  /** One stage; returns the stage that follows in the same state, if one does. */
  function run(stage: StageRow): StageRow | undefined {
    const { state } = stageOf(pipeline, stage.stage);
    walked.stages.push(stage.stage);
    if (stage.fanOut && fed !== stage.stage) walked.unfed.push(stage.stage);
    const fails = pick() % 4 === 0;
    if (fails && typeof stage.spent === 'object') {
      move(stage.spent.move, spentTriggerOf(stage), 'spent');
      return undefined;
    }
    if (fails && stage.spent === 'leave') {
      walked.left = true;
      return undefined;
    }
    const outcome = fails || stage.fanOut ? 'done' : outcomeOf(pipeline, state, stage.stage, pick);
    const finished = { state, stage: stage.stage, outcome };
    if (!stage.fanOut && !fails) fed = fanOutFedBy(pipeline, finished);
    const after = afterStage(pipeline, finished);
    if (after.is === 'stage') return after.stage;
    move(after.state, after.trigger, 'outcome');
    return undefined;
  }

  while (walked.moves.length + walked.stages.length < limit) {
    const row = rowOf(pipeline, walked.endedIn);
    if (isEnd(row) || walked.left) return walked;
    if (isDoes(row)) {
      let stage: StageRow | undefined = firstStage(pipeline, walked.endedIn);
      while (stage) stage = run(stage);
      continue;
    }
    const claimed = claimedState(row);
    const others = Object.entries(row.then).filter(([outcome]) => claimed === undefined || outcome !== 'claimed');
    if (claimed !== undefined && (others.length === 0 || pick() % 2 === 0)) {
      move(claimed, triggerOf(row, firstStage(pipeline, walked.endedIn).stage, 'claimed'), 'outcome');
      continue;
    }
    const [outcome, to] = choose(others, pick);
    move(to, triggerOf(row, isAwaits(row) ? row.awaits : walked.endedIn, outcome), 'outcome');
  }
  return walked;
}

/** The stage that the entry step names; a fan-out is named by the row alone. */
function firstStage(pipeline: Pipeline, state: string): StageRow {
  const step = entryStep(pipeline, state, 1);
  if (step?.do === 'stage') return stageOf(pipeline, step.stage).row;
  const first = stagesIn(rowOf(pipeline, state))[0];
  if (step?.do !== 'next' || !first?.fanOut) throw new Error(`'${state}' was entered with ${JSON.stringify(step)}`);
  return first;
}

function outcomeOf(pipeline: Pipeline, state: string, stage: string, pick: () => number): string {
  const row = rowOf(pipeline, state);
  if (stagesIn(row).at(-1)?.stage !== stage || !('then' in row)) return 'done';
  return choose(Object.keys(row.then), pick);
}

function choose<T>(all: readonly T[], pick: () => number): T {
  const chosen = all[pick() % all.length];
  if (chosen === undefined) throw new Error('there is nothing to choose from');
  return chosen;
}
