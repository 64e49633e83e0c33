import type { FastifyBaseLogger } from 'fastify';
import type pg from 'pg';
import type { RunStart } from '../../core/run.js';
import { noteAccepted } from '../../db/spine/due.js';
import type { Engine } from '../../ports/engine.js';
import type { Metrics } from '../../telemetry/metrics.js';
import { giveUpAfter } from './engine-health.js';

/** The caller waits no longer than this for the engine. The row is committed, and the dispatcher looks at it after this
 *  time anyway. */
const PATIENCE_MS = 1_000;

/** Tells the engine of the move that was just committed. A failure is logged and is no error, because the dispatcher
 *  repeats the call. `otherwise`: who does it where the dispatcher does not, as the log says it. */
export async function tellEngine(
  log: FastifyBaseLogger,
  call: () => Promise<unknown>,
  otherwise = 'the dispatcher will',
): Promise<void> {
  try {
    await giveUpAfter(PATIENCE_MS, call());
  } catch (error) {
    log.warn({ err: error }, `engine was not told; ${otherwise}`);
  }
}

/** Starts the run of an item that was just committed, and notes on the row that the engine has it. Without the note the dispatcher
 *  would start every item a second time that waits longer than a second for a worker. */
export async function startRun(
  { pool, engine }: { pool: pg.Pool; engine: Engine },
  log: FastifyBaseLogger,
  run: RunStart,
): Promise<void> {
  await tellEngine(log, async () => {
    await engine.start(run);
    await noteAccepted(pool, run);
  });
}

/** The same engine, counting the starts that are asked of it. */
export function countStarts(engine: Engine, metrics: Metrics, by: 'api' | 'dispatcher'): Engine {
  return {
    ...engine,
    async start(run) {
      try {
        await engine.start(run);
        metrics.runStarts.inc({ by, result: 'ok' });
      } catch (error) {
        metrics.runStarts.inc({ by, result: 'failed' });
        throw error;
      }
    },
  };
}
