import type pg from 'pg';
import type { Logger } from 'pino';
import { isAppError } from '../core/errors.js';
import type { Pipeline } from '../core/pipeline.js';
import type { RunRef } from '../core/run.js';
import { renewPage } from '../db/recovery/renew-queues.js';
import type { Engine } from '../ports/engine.js';
import { type Loop, startLoop } from './loop.js';

export interface RenewalDeps {
  pool: pg.Pool;
  engine: Engine;
  pipelines: Readonly<Record<string, Pipeline>>;
  logger: Logger;
  /** Whether this process may drive the database's items in its namespace. */
  isAdmitted(): boolean;
}

/** Items of one transaction, which holds their rows for a fraction of a second. After a full page the next turn begins at once. */
const PAGE = 50;

/** An operator who asks for the renewal waits this long at most. A look is one cheap read. */
const EVERY_MS = 5_000;

/** Starts the runs anew that waited for a worker when Temporal's queues changed, once in the life of a database unless an operator asks
 *  for it again. The dispatcher starts the new runs. Any number of copies may run. */
export function startQueueRenewal(deps: RenewalDeps): Loop {
  const { pool, pipelines, logger } = deps;
  let count = 0;
  async function turn(): Promise<number> {
    const page = deps.isAdmitted() ? await renewPage(pool, pipelines, PAGE) : null;
    if (!page) return EVERY_MS;
    count += page.replaced.length;
    await terminateAll(deps, page.replaced);
    if (!page.isLast) return 0;
    logger.info({ count }, 'queues renewed: runs that waited for a worker were started anew');
    count = 0;
    return EVERY_MS;
  }
  return startLoop({ everyMs: EVERY_MS, name: 'queue renewal', logger, turn });
}

/** A task that Temporal never hands out would keep its run open for ever. Best effort: claims of a run that stays are refused. */
async function terminateAll({ engine, logger }: RenewalDeps, runs: readonly RunRef[]): Promise<void> {
  await Promise.all(
    runs.map(async (run) => {
      try {
        await engine.terminate(run, 'its queue was renewed');
      } catch (error) {
        if (!isAppError(error)) throw error;
        logger.warn({ err: error, item: run.itemId }, 'a replaced run could not be ended');
      }
    }),
  );
}
