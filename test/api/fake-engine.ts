import { AppError } from '../../src/core/errors.js';
import type { RunInput, RunRef } from '../../src/core/run.js';
import type { Engine } from '../../src/ports/engine.js';

export interface FakeEngine extends Engine {
  started: RunInput[];
  woken: RunRef[];
  ended: RunRef[];
  /** How it answers from now on; `silent` never does. */
  mood: 'well' | 'away' | 'silent';
}

export function createFakeEngine(): FakeEngine {
  const engine: FakeEngine = {
    started: [],
    woken: [],
    ended: [],
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
    ping: () => answer(),
  };
  async function answer(): Promise<void> {
    if (engine.mood === 'silent') await new Promise(() => undefined);
    if (engine.mood === 'away') throw new AppError('engine_unavailable', 'Temporal does not answer');
  }
  return engine;
}
