import type { Pipeline } from '../../core/pipeline.js';
import type { Sql } from '../../ports/sql.js';
import { lockItem } from './item-row.js';
import { type Actor, moveLocked } from './transition.js';
import { noteOf } from './control.js';

/** Deletes an item with its tasks and everything that refers to it. The audit keeps its entries, the last of which names the deletion.
 *  False: there is no such item. (A minimal version, until the engine's own is merged.) */
export async function deleteItem(
  transaction: Sql,
  pipeline: Pipeline,
  { itemId, actor, reason }: { itemId: string; actor: Actor; reason?: string },
): Promise<boolean> {
  const item = await lockItem(transaction, itemId);
  if (!item) return false;
  const note = noteOf(item, 'deleted', actor);
  await moveLocked(transaction, pipeline, item, { ...note, ...(reason !== undefined && { metadata: { reason } }) });
  await transaction.query('DELETE FROM attempts WHERE item_id = $1', [itemId]);
  await transaction.query('DELETE FROM decisions WHERE item_id = $1', [itemId]);
  await transaction.query('DELETE FROM items WHERE id = $1', [itemId]);
  return true;
}
