import type pg from 'pg';
import type { Logger } from 'pino';
import { isAppError } from '../core/errors.js';
import { type RunRef, workflowIdOf } from '../core/run.js';
import { raiseEvent } from '../db/recovery/outbox.js';

interface ReportDeps {
  pool: pg.Pool;
  logger: Logger;
}

/** Passes the call's answer on. A run whose item this database does not know is reported, once a day for each pipeline, and the call
 *  fails: Temporal tries again, perhaps with a worker of the right database. Ending the run would end a healthy item. */
export async function reportUnknownItem<T>(
  { pool, logger }: ReportDeps,
  { pipeline, itemId, epoch }: RunRef,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!isAppError(error) || error.code !== 'item_unknown') throw error;
    const run = workflowIdOf({ pipeline, itemId, epoch });
    logger.error({ run }, 'this database does not know the item of the run');
    const { rows } = await pool.query<{ day: string }>(`SELECT to_char(now(), 'YYYY-MM-DD') AS day`);
    await raiseEvent(pool, {
      id: `run_without_item:${pipeline}:${rows[0]?.day ?? ''}:task`,
      kind: 'run_without_item',
      pipeline,
      sentence: `A worker was given a task of the run ${run}, whose item this database does not have. The run is left as it is.`,
      payload: { runs: [run] },
    });
    throw error;
  }
}
