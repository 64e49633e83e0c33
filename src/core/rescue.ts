import { diagnose, type Diagnosis, type Facts, isLostByEngine, lastSignOf, type Reason } from './diagnosis.js';
import type { Pipeline } from './pipeline.js';
import { sweepVerdict } from './rescue-budget.js';
import { msOf } from './span.js';

export type RescueDecision = { diagnosis: Diagnosis } &
  /** `reports`: only a person can help, or a person should know. */
  (
    | { do: 'leave'; reports: boolean }
    /** Starts the same run, because Temporal has never heard of it. */
    | { do: 'start' }
    /** `isFree`: the item is not at fault, so its budget stays as it is. */
    | { do: 'restart'; isFree: boolean }
    | { do: 'park' }
    | { do: 'fail' }
  );

/** Reasons that operators are told of. The item itself is well, and goes on after the operator has acted. */
const REPORTED: readonly Reason[] = ['backlog', 'no_worker', 'wedged'];

/** Decides what to do with an item that gives no sign of life. It acts only when Temporal says that the run is gone. An
 *  item whose run is alive, held or unknown is left, and its budget is not charged. */
export function rescueDecision(facts: Facts): RescueDecision {
  const diagnosis = diagnose(facts);
  const leave = { do: 'leave', reports: REPORTED.includes(diagnosis.reason), diagnosis } as const;
  if (facts.engine !== 'gone' || !facts.pipeline || !isSilent(facts, facts.pipeline)) return leave;
  if (diagnosis.reason === 'start_lost') return { do: 'start', diagnosis };
  return diagnosis.reason === 'workflow_closed' ? { ...closedRunDecision(facts, facts.pipeline), diagnosis } : leave;
}

function closedRunDecision(
  facts: Facts,
  pipeline: Pipeline,
): { do: 'restart'; isFree: boolean } | { do: 'park' | 'fail' } {
  const isFree = isLostByEngine(facts);
  switch (sweepVerdict(pipeline, facts.item, { lastSignAt: lastSignOf(facts), now: facts.now, isFree })) {
    case 'park':
      return { do: 'park' };
    case 'exhaust':
      return { do: 'fail' };
    case 'rescue':
      return { do: 'restart', isFree };
  }
}

/** Whether the item has been silent for long enough. A run that has reported its end need not be waited for. */
function isSilent(facts: Facts, { sweep }: Pipeline): boolean {
  if (facts.item.runEndedAt !== null) return true;
  return facts.now.getTime() - lastSignOf(facts).getTime() >= msOf(sweep.stuckAfter);
}
