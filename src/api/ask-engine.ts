import type { Facts } from '../core/diagnosis.js';
import { engineFactsOf, type RunLook } from '../core/retry.js';
import type { RunRef } from '../core/run.js';
import type { Engine } from '../ports/engine.js';
import { within } from './engine-health.js';

/** A reader waits no longer than this for what Temporal says of a run; what is not known by then is said to be unknown. */
const PATIENCE_MS = 1_000;

/** A worker asks for work at least once a minute; one that has not for a little longer is gone. */
const POLLER_FRESH_MS = 70_000;

export async function lookAtRun(engine: Engine, run: RunRef): Promise<RunLook> {
  return within(PATIENCE_MS, engine.describe(run)).catch(() => ({ is: 'unknown' }));
}

/** What a diagnosis wants to know of the run and of the queue it waits in. */
export async function askEngine(engine: Engine, run: RunRef): Promise<Pick<Facts, 'engine' | 'wedgedBy' | 'pollers'>> {
  const [look, pollers] = await Promise.all([lookAtRun(engine, run), countPollers(engine, run.pipeline)]);
  return { ...engineFactsOf(look), ...(pollers !== null && { pollers }) };
}

/** Null: not known. */
async function countPollers(engine: Engine, pipeline: string): Promise<number | null> {
  const freshFrom = Date.now() - POLLER_FRESH_MS;
  return within(PATIENCE_MS, engine.queue(pipeline)).then(
    ({ pollers }) => pollers.filter((each) => each.seenAt.getTime() > freshFrom).length,
    () => null,
  );
}
