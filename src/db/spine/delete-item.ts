import { AppError } from '../../core/errors.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { Sql } from '../../ports/sql.js';
import { noteOf } from './control.js';
import { lockItem } from './item-row.js';
import { type Actor, moveLocked } from './transition.js';

/** Deletes an item with all its rows but the audit, whose last entry says who deleted it. False: there is no such item. */
export async function deleteItem(
  transaction: Sql,
  pipeline: Pipeline,
  { itemId, actor, reason }: { itemId: string; actor: Actor; reason?: string },
): Promise<boolean> {
  const item = await lockItem(transaction, itemId);
  if (!item) return false;
  if (item.pipeline !== pipeline.name)
    throw new AppError('state_conflict', `item ${itemId} is not of ${pipeline.name}`);
  const metadata = reason === undefined ? {} : { reason };
  await moveLocked(transaction, pipeline, item, { ...noteOf(item, 'deleted', actor), metadata });
  await transaction.query('DELETE FROM items WHERE id = $1', [itemId]);
  return true;
}
