import type { Sql } from '../ports/sql.js';
import type { ItemRow } from './spine/item-row.js';
import { raiseEvent } from './recovery/outbox.js';

/** Tells the owner that recovery has given the item up. Once for each run. */
export async function raiseExhausted(
  transaction: Sql,
  item: ItemRow,
  why: { reason: string; sentence: string },
): Promise<void> {
  await raiseEvent(transaction, {
    id: `item_exhausted:${item.id}:${String(item.epoch)}`,
    kind: 'item_exhausted',
    pipeline: item.pipeline,
    itemId: item.id,
    owner: item.owner,
    sentence: why.sentence,
    payload: { state: item.state, reason: why.reason, rescues: item.rescues, errorClass: item.errorClass },
  });
}
