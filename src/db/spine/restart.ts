import { claimedState, isAwaits, isDoes, stateNamesOf, rowOf } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { Sql } from '../../ports/sql.js';
import type { ItemRow } from './item-row.js';

/** The states in which a run has its task wait for a worker, until the task is claimed. */
export function waitingStates(pipeline: Pipeline): string[] {
  return stateNamesOf(pipeline).filter((state) => {
    const row = rowOf(pipeline, state);
    return isDoes(row) || claimedState(row) !== undefined;
  });
}

/** Whether nobody is at work on an item named `i`. A task that waits for its retry comes by itself, and a run that has ended is left to
 *  the sweep, which counts rescues. `isBusy`: of a running task named `t`, whether its worker is to finish it. */
export function idleCondition(isBusy: string): string {
  return `i.run_ended_at IS NULL AND i.parked_at IS NULL AND NOT EXISTS (
      SELECT 1 FROM tasks t WHERE t.item_id = i.id AND t.visit = i.visit
        AND ((t.status = 'running' AND ${isBusy}) OR (t.status = 'waiting' AND t.retry_at > now())))`;
}

/** Whether the run of the locked item waits, or will ask for its next step, with the level of its start. A start that nobody has noted
 *  may be on its way with that level. */
export async function keepsFirstLevel(transaction: Sql, pipeline: Pipeline, item: ItemRow): Promise<boolean> {
  const hasRun = waitingStates(pipeline).includes(item.state) || isAwaits(rowOf(pipeline, item.state));
  if (!hasRun) return false;
  const { rows } = await transaction.query(`SELECT 1 FROM items i WHERE i.id = $1 AND ${idleCondition('true')}`, [
    item.id,
  ]);
  return rows.length > 0;
}

/** Hands what belongs to the waiting run to the run that takes its place: the receipts of a recovery that has not moved yet. Tasks keep
 *  their error tries. Call it before the move that raises the epoch. */
export async function handOver(transaction: Sql, { id, epoch }: Pick<ItemRow, 'id' | 'epoch'>): Promise<void> {
  await transaction.query(
    `WITH carried AS (
       UPDATE receipts SET epoch = epoch + 1
       WHERE item_id = $1 AND epoch = $2 AND moving_at IS NULL AND result = 'waiting'
     )
     UPDATE tasks SET scheduled_at = NULL WHERE item_id = $1 AND status = 'waiting' AND scheduled_at IS NOT NULL`,
    [id, epoch],
  );
}
