import { AT_WORK } from './cases/at-work.js';
import { ENDED_AGAIN, PARKED, TERMINATED } from './cases/closed-runs.js';
import { CUT, STALLED } from './cases/engine.js';
import { PAUSED_PIPELINE, PEOPLE } from './cases/people.js';
import { FAILING, FLOODED, STORM } from './cases/storms.js';
import { SUSPECTS } from './cases/suspects.js';
import { UNFIT_CODE } from './cases/unfit-code.js';
import {
  AWAY,
  FROZEN,
  FROZEN_FOR_LONG,
  KILLED_BESIDE_FROZEN,
  releaseWorkers,
  takeWorkersAway,
} from './cases/workers.js';
import type { Group } from './fault-case.js';

const WITHOUT_WORKERS = { strike: takeWorkersAway, mend: releaseWorkers } as const;

/** Those of the set that take seconds. */
export const SHORT_GROUPS = [
  { name: 'among items that are on their way', cases: [...AT_WORK, ...PEOPLE, ...TERMINATED, ...FAILING] },
  { name: 'all workers are gone', cases: AWAY, ...WITHOUT_WORKERS },
] as const satisfies readonly Group[];

/** In this order, one after the other: each needs the whole installation for itself. */
export const GROUPS: readonly Group[] = [
  ...SHORT_GROUPS,
  { name: 'both workers are frozen', cases: FROZEN },
  { name: 'both workers stay frozen', cases: FROZEN_FOR_LONG },
  { name: 'one worker is killed and the other frozen', cases: KILLED_BESIDE_FROZEN },
  { name: 'the queue is flooded', cases: FLOODED },
  { name: 'the pipeline is paused', cases: PAUSED_PIPELINE },
  { name: 'Temporal is cut off', cases: CUT },
  { name: 'Temporal does not answer', cases: STALLED },
  { name: 'the code of the workers does not fit', cases: UNFIT_CODE },
  { name: 'suspects on one worker', cases: SUSPECTS },
  { name: 'an outage longer than work may lie about', cases: PARKED },
  // Last, for a breaker that has let go shows as degraded for half a minute more.
  { name: 'among items that end again, or fail together', cases: [...ENDED_AGAIN, ...STORM] },
];
