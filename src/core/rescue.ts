import { diagnose, type Diagnosis, type Facts, isLostByEngine, lastSignOf, type Reason } from './diagnosis.js';
import type { Pipeline } from './pipeline.js';
import { verdictOf } from './rescue-budget.js';
import { msOf } from './span.js';

export type RescueDecision = { diagnosis: Diagnosis } &
  /** `reports`: only a person can help, or should know. */
  (
    | { do: 'leave'; reports: boolean }
    /** The same run: Temporal has never heard of it. */
    | { do: 'start' }
    /** `isFree`: not the item's doing, so its budget stays as it is. */
    | { do: 'restart'; isFree: boolean }
    | { do: 'park' }
    | { do: 'fail' }
  );

/** What an operator is told of: the item itself is well, and goes on when they have acted. */
const REPORTED: readonly Reason[] = ['backlog', 'no_worker', 'wedged'];

/** What to do with an item that gives no sign of life. Acts only on a run that Temporal says is gone: what is alive, held,
 *  or unknown is left, and costs nothing. */
export function rescueDecision(facts: Facts): RescueDecision {
  const diagnosis = diagnose(facts);
  const leave = { do: 'leave', reports: REPORTED.includes(diagnosis.reason), diagnosis } as const;
  if (facts.engine !== 'gone' || !facts.pipeline || !isSilent(facts, facts.pipeline)) return leave;
  if (diagnosis.reason === 'start_lost') return { do: 'start', diagnosis };
  return diagnosis.reason === 'workflow_closed' ? { ...ofClosedRun(facts, facts.pipeline), diagnosis } : leave;
}

function ofClosedRun(facts: Facts, pipeline: Pipeline): { do: 'restart'; isFree: boolean } | { do: 'park' | 'fail' } {
  const isFree = isLostByEngine(facts);
  switch (verdictOf(pipeline, facts.item, { lastSignAt: lastSignOf(facts), now: facts.now, isFree })) {
    case 'park':
      return { do: 'park' };
    case 'exhaust':
      return { do: 'fail' };
    case 'rescue':
      return { do: 'restart', isFree };
  }
}

/** A run that said that it ended need not be waited for. */
function isSilent(facts: Facts, { sweep }: Pipeline): boolean {
  if (facts.item.runEndedAt !== null) return true;
  return facts.now.getTime() - lastSignOf(facts).getTime() >= msOf(sweep.stuckAfter);
}
