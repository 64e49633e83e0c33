import { AppError } from '../../src/core/errors.js';
import { type RunStart, type RunRef, workflowIdOf } from '../../src/core/run.js';
import type { Engine, QueueStatus, RunStatus } from '../../src/ports/engine.js';

export interface FakeEngine extends Engine {
  started: RunStart[];
  woken: RunRef[];
  ended: RunRef[];
  terminated: RunRef[];
  failed: { token: Uint8Array; why: string }[];
  unstuck: RunRef[];
  /** What it says of every run and every queue. */
  status: RunStatus;
  queueStatus: QueueStatus;
  /** Whether its search index knows the runs. */
  isIndexed: boolean;
  /** Whether its search index fails while everything else answers. */
  isIndexAway: boolean;
  /** Whether it knows priorities. */
  isFair: boolean;
  /** The questions to the search index, and how often a single run was described. */
  lookedUp: (readonly RunRef[])[];
  described: number;
  open: (RunRef & { startedAt: Date })[];
  /** How it answers from now on; `silent` never does. */
  mood: 'well' | 'away' | 'silent';
}

export function createFakeEngine(): FakeEngine {
  const engine: FakeEngine = {
    started: [],
    woken: [],
    ended: [],
    terminated: [],
    failed: [],
    unstuck: [],
    status: { is: 'alive', wedgedBy: null },
    queueStatus: { pollers: [], backlog: 0, oldestMs: null },
    isIndexed: true,
    isIndexAway: false,
    isFair: true,
    lookedUp: [],
    described: 0,
    open: [],
    mood: 'well',
    async start(run) {
      await answer();
      engine.started.push(run);
    },
    async wake(run) {
      await answer();
      engine.woken.push(run);
      return true;
    },
    async end(run) {
      await answer();
      engine.ended.push(run);
    },
    async terminate(run) {
      await answer();
      engine.terminated.push(run);
    },
    async describe() {
      await answer();
      engine.described += 1;
      return engine.status;
    },
    async findRuns(runs) {
      await answer();
      if (engine.isIndexAway) throw new AppError('engine_unavailable', 'the search index does not answer');
      engine.lookedUp.push(runs);
      const { status } = engine;
      if (!engine.isIndexed || (status.is === 'gone' && status.how === 'never_existed')) return new Map();
      return new Map(runs.map((run) => [workflowIdOf(run), status.is === 'gone' ? status : { is: 'alive' }]));
    },
    async queue() {
      await answer();
      return engine.queueStatus;
    },
    async *openRuns() {
      await answer();
      yield* engine.open;
    },
    async failAttempt(token, why) {
      await answer();
      engine.failed.push({ token, why });
      return true;
    },
    async resetSticky(run) {
      await answer();
      engine.unstuck.push(run);
    },
    async heedsPriorities() {
      await answer();
      return engine.isFair;
    },
    ping: () => answer(),
  };
  async function answer(): Promise<void> {
    if (engine.mood === 'silent') await new Promise(() => undefined);
    if (engine.mood === 'away') throw new AppError('engine_unavailable', 'Temporal does not answer');
  }
  return engine;
}
