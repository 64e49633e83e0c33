import { claimedState, isEnd, isRests, rowOf } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { Sql } from '../../ports/sql.js';
import { conflictOf, noteOf, reasonOf, type Request } from './control.js';
import { lockItem } from './item-row.js';
import { moveLocked } from './transition.js';

/** Deletes an item with its tasks, attempts and decisions. The domain's own rows go with it by their foreign keys. The audit keeps its
 *  entries and gets one more, which is how a claim of an old run learns that the item was deleted here. Refused while a run may work on
 *  the item. False: there is no such item. */
export async function deleteItem(transaction: Sql, pipeline: Pipeline, request: Request): Promise<boolean> {
  const item = await lockItem(transaction, request.itemId);
  if (!item) return false;
  if (!mayDelete(pipeline, item.state)) throw conflictOf(item, 'is worked on; cancel it before it is deleted');
  const note = noteOf(item, 'deleted', request.actor);
  await moveLocked(transaction, pipeline, item, { ...note, metadata: reasonOf(request) });
  await transaction.query('DELETE FROM attempts WHERE item_id = $1', [item.id]);
  await transaction.query('DELETE FROM decisions WHERE item_id = $1', [item.id]);
  await transaction.query('DELETE FROM items WHERE id = $1', [item.id]);
  return true;
}

/** Whether no run works on an item in this state. */
export function mayDelete(pipeline: Pipeline, state: string): boolean {
  const row = rowOf(pipeline, state);
  return isEnd(row) || (isRests(row) && claimedState(row) === undefined);
}
