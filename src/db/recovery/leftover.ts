import type pg from 'pg';
import type { Pipeline } from '../../core/pipeline.js';
import { type RunRef, workflowIdOf } from '../../core/run.js';
import { changeItem, noteOf } from '../spine/control.js';
import { SYSTEM } from '../spine/transition.js';

const TRIGGER = 'leftover-run-ended';

/** Writes the audit entry of a run that outlived its item, or the epoch that it was started for. False: the run has its entry. A
 *  run that nobody works on stays open after it is asked to end, and is asked again by every sweep. */
export async function recordLeftover(pool: pg.Pool, pipeline: Pipeline, run: RunRef): Promise<boolean> {
  let isNew = false;
  const request = { itemId: run.itemId, actor: SYSTEM };
  await changeItem(
    pool,
    () => pipeline,
    request,
    async (_, item, transaction) => {
      const { rows } = await transaction.query(
        `SELECT 1 FROM audit WHERE item_id = $1 AND trigger = $2 AND metadata ->> 'run' = $3 LIMIT 1`,
        [item.id, TRIGGER, workflowIdOf(run)],
      );
      isNew = rows.length === 0;
      return isNew ? { ...noteOf(item, TRIGGER, SYSTEM), metadata: { run: workflowIdOf(run) } } : null;
    },
  );
  return isNew;
}
